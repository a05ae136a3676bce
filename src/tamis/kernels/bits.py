"""Machine instructions that Numba does not offer by name: count the ones, find the lowest one, list the ones."""

from __future__ import annotations

from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils, config
from numba.extending import intrinsic

__all__ = ["COMPRESSES", "list_ones", "popcount", "trailing_zeros"]


def _compresses() -> bool:
    """Whether the machine can move the chosen ones of sixteen numbers together in one instruction."""
    own = config.CPU_NAME is None and config.CPU_FEATURES is None  # type: ignore[attr-defined]  # not another's
    return own and bool(binding.get_host_cpu_features().get("avx512f"))


if config.DISABLE_JIT:  # type: ignore[attr-defined]  # set from the environment
    COMPRESSES = False

    def popcount(word: Any) -> int:
        """Ones in a 64-bit word."""
        return int(word).bit_count()

    def trailing_zeros(word: Any) -> int:
        """The position of the lowest one; 64 for zero."""
        whole = int(word)
        return (whole & -whole).bit_length() - 1 if whole else 64

    def list_ones(word: Any, base: Any, out: Any, n: int) -> int:
        """Write `base` plus the position of each one of a word to `out` from `n` on; the value is one past the last."""
        for place in range(64):
            if int(word) >> place & 1:
                out[n] = base + place
                n += 1
        return n

else:
    COMPRESSES = _compresses()

    @intrinsic
    def popcount(context: Any, word: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.uint64(types.uint64), generate

    @intrinsic
    def trailing_zeros(context: Any, word: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], context.get_constant(types.boolean, False))

        return types.uint64(types.uint64), generate

    @intrinsic
    def list_ones(context: Any, word: Any, base: Any, out: Any, n: Any) -> Any:
        """Write `base` plus the position of each one of a word to `out` from `n` on; the value is one past the last.

        Sixteen numbers are stored at a time, of which the ones come first: up to sixteen places past the last are
        overwritten.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            word, base, out, n = arguments
            data = context.make_array(signature.args[2])(context, builder, out).data
            short, wide = ir.IntType(16), ir.VectorType(ir.IntType(32), 16)
            mask_type = ir.VectorType(ir.IntType(1), 16)
            compress = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
                builder.module,
                ir.FunctionType(wide, [wide, wide, mask_type]),
                "llvm.x86.avx512.mask.compress.v16i32",
            )
            place = ir.Constant(ir.IntType(32), 0)
            for part in range(4):
                chosen = builder.trunc(builder.lshr(word, ir.Constant(word.type, 16 * part)), short)
                single = builder.insert_element(ir.Constant(wide, ir.Undefined), base, place)
                spread = builder.shuffle_vector(single, ir.Constant(wide, ir.Undefined), ir.Constant(wide, [0] * 16))
                numbers = builder.add(spread, ir.Constant(wide, [16 * part + i for i in range(16)]))
                packed = builder.call(compress, [numbers, ir.Constant(wide, None), builder.bitcast(chosen, mask_type)])
                target = builder.bitcast(builder.gep(data, [n]), wide.as_pointer())
                builder.store(packed, target, align=4)
                n = builder.add(n, builder.zext(builder.ctpop(chosen), n.type))
            return n

        return types.int64(types.uint64, types.int32, out, types.int64), generate
