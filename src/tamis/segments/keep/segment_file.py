"""A segment as one file: a small header, then aligned arrays, opened by memory map.

    8 bytes   "TAMSEG", a zero and the format's version
    8 bytes   length of the header in bytes
    8 bytes   xxh3 of the header
    8 bytes   xxh3 of everything after the header
    header    JSON: the arrays (name, type, shape, place), dictionaries, ids, the schema's fingerprint
    arrays    each at a multiple of 64 bytes

Opening reads the header and, unless told not to, sums the rest once: about ten gigabytes a second. Pages come in when
they are touched, and processes on one host share them. Files are written to a temporary name, synced, renamed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from tamis.batches.letters import letters_of
from tamis.errors import SegmentError
from tamis.kernels.segments.blocks import Blocks
from tamis.kernels.segments.clusters import Clusters
from tamis.kernels.segments.rows import Places
from tamis.language import parse, print_predicate
from tamis.model import Finite, Kind, Operator, Predicate, Reference, Schema
from tamis.segments.compile.codes import AttributeCodes, Dictionary
from tamis.segments.compile.coding import Columns
from tamis.segments.compile.layout import Home, Layout
from tamis.segments.compile.truths import TruthColumn, truth_slot
from tamis.segments.ids import IdColumn, IdIndex
from tamis.segments.segment import Segment
from tamis.store.atomic import why, write_atomically

__all__ = ["fingerprint", "open_segment", "save_segment", "sums_of"]

_MAGIC = b"TAMSEG\0"
_VERSION = 3
_LINKS_ONLY = 2
"""An older version that can still be read: links were the only truths it had."""
_PREFIX_BYTES = 32
_ALIGN = 64

Array = npt.NDArray[Any]
Content = npt.NDArray[np.uint8]


def fingerprint(schema: Schema) -> str:
    """What a segment must agree on with the schema it is opened under."""
    return xxhash.xxh3_128_hexdigest(schema.dumps().encode())


# -- writing ------------------------------------------------------------------------------------------------------


def save_segment(segment: Segment, path: Path, schema: Schema) -> None:
    """Write atomically; nothing half-written is left, whatever happens."""
    arrays: dict[str, Array] = {}
    layout = segment.layout
    for group, found in (("blocks", layout.blocks), ("clusters", layout.clusters)):
        arrays |= {f"{group}.{name}": array for name, array in found._asdict().items()}
    arrays |= {f"places.{k}": v for k, v in layout.places._asdict().items() if isinstance(v, np.ndarray)}
    arrays |= {"block_sizes": layout.block_sizes, "linked": layout.linked, "sequence": segment.sequence}
    arrays |= {"slot_column": layout.columns.slot_column, "slot_mode": layout.columns.slot_mode}
    arrays |= {"hashes": segment.index.hashes, "hash_rows": segment.index.rows}
    if layout.canon is not None:
        arrays["canon"] = layout.canon
    _add_strings(arrays, "texts", segment.texts)
    _add_column(arrays, "ids", segment.ids.array)
    header = {
        "schema": fingerprint(schema),
        "rows": segment.rows,
        "dead": segment.dead,
        "never": segment.never,
        "any_dead": layout.places.any_dead,
        "single_blocks": layout.places.single_blocks,
        "marked": segment.ids.marked,
        "counts": layout.counts,
        "homes": layout.homes,
        "truths": [[print_predicate(one) for one in truth.members] for truth in layout.columns.truths],
        "attributes": [
            _describe(arrays, at, name, codes) for at, (name, codes) in enumerate(layout.columns.attributes.items())
        ],
    }
    _write(path, header, arrays)


def _describe(arrays: dict[str, Array], at: int, name: str, codes: AttributeCodes) -> dict[str, Any]:
    kinds = {}
    for kind, dictionary in codes.dictionaries.items():
        kinds[int(kind)] = {"ordered": dictionary.ordered}
        _add_column(arrays, f"attribute.{at}.{int(kind)}", dictionary.constants)
    return {"name": name, "finite": codes.names is not None, "size": codes.domain_size, "kinds": kinds}


def _add_column(arrays: dict[str, Array], name: str, column: Array | pa.Array) -> None:
    if isinstance(column, pa.Array):
        if pa.types.is_integer(column.type):
            arrays[name] = column.fill_null(0).to_numpy(zero_copy_only=False)
        else:
            _add_strings(arrays, name, column)
    elif column.dtype == object:  # huge integers, or integers among floats: exact, as text
        texts = [f"i{one}" if isinstance(one, int) else f"f{float(one).hex()}" for one in column.tolist()]
        _add_strings(arrays, f"{name}.exact", pa.array(texts, pa.large_string()))
    else:
        arrays[name] = column


def _add_strings(arrays: dict[str, Array], name: str, column: pa.Array) -> None:
    whole = pa.concat_arrays([column.cast(pa.large_string())])
    valid = whole.is_valid().to_numpy(zero_copy_only=False)
    filled = whole.fill_null("")
    starts, text = letters_of(filled)
    arrays[f"{name}.starts"] = starts - starts[0]
    arrays[f"{name}.bytes"] = text[starts[0] : starts[-1]]
    arrays[f"{name}.valid"] = np.packbits(valid, bitorder="little")


def _write(path: Path, header: dict[str, Any], arrays: dict[str, Array]) -> None:
    table, at = [], 0
    for name, array in arrays.items():
        table.append([name, array.dtype.str, list(array.shape), at])
        at += -(-array.nbytes // _ALIGN) * _ALIGN
    text = json.dumps(header | {"arrays": table, "bytes": at}, ensure_ascii=False).encode()
    text += b" " * (-(len(text) + _PREFIX_BYTES) % _ALIGN)
    whole = xxhash.xxh3_64()
    pieces: list[Any] = []
    for array in arrays.values():
        raw = np.ascontiguousarray(array).data.cast("B") if array.nbytes else b""
        pieces += [raw, b"\0" * (-array.nbytes % _ALIGN)]
    for piece in pieces:
        whole.update(piece)
    prefix = _MAGIC + bytes([_VERSION]) + len(text).to_bytes(8, "little") + xxhash.xxh3_64_digest(text) + whole.digest()
    write_atomically(path, [prefix, text, *pieces])


# -- reading ------------------------------------------------------------------------------------------------------


def open_segment(path: Path, schema: Schema, *, verify: bool = True) -> Segment:
    """The segment in a file, by memory map. `verify=False` spares the sum over a file larger than memory."""
    try:
        content = np.memmap(path, np.uint8, "c")  # private pages: kernels see ordinary arrays, the file stays as it is
    except (OSError, ValueError) as error:
        raise SegmentError(f"expected a segment: {why(error)}", str(path)) from None
    header, body = _read_header(content, str(path), verify)
    if header["schema"] != fingerprint(schema):
        raise SegmentError("the segment was compiled under another schema", str(path))
    try:
        return _build(header, _arrays(header, body, str(path)), schema)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise SegmentError(f"expected a segment, found one that cannot be read: {error!r}", str(path)) from None


def sums_of(path: Path) -> str:
    """The two sums of a segment file: what tells it from every other. Nothing is verified."""
    try:
        with path.open("rb") as file:
            prefix = file.read(_PREFIX_BYTES)
    except OSError as error:
        raise SegmentError(f"expected a segment: {why(error)}", str(path)) from None
    if prefix.startswith(_MAGIC) and prefix[7:8] not in (bytes([_VERSION]), bytes([_LINKS_ONLY])):
        raise _of_another(prefix[7], str(path))
    return prefix[16:].hex()


def _of_another(version: int, path: str) -> SegmentError:
    age = "a newer" if version > _VERSION else "an older"
    return SegmentError(f"expected format {_VERSION}, found {version}; {age} Tamis may have written it", path)


def _read_header(
    content: npt.NDArray[np.uint8], path: str, verify: bool
) -> tuple[dict[str, Any], npt.NDArray[np.uint8]]:
    prefix = content[:_PREFIX_BYTES].tobytes()
    if len(prefix) < _PREFIX_BYTES or not prefix.startswith(_MAGIC):
        raise SegmentError("expected a segment, found another kind of file", path)
    if prefix[7] not in (_VERSION, _LINKS_ONLY):
        raise _of_another(prefix[7], path)
    length = int.from_bytes(prefix[8:16], "little")
    text = content[_PREFIX_BYTES : _PREFIX_BYTES + min(length, len(content))].tobytes()
    if len(text) != length or xxhash.xxh3_64_digest(text) != prefix[16:24]:
        raise SegmentError("the checksum does not fit the header: the file is damaged or cut short", path)
    header: dict[str, Any] = json.loads(text)
    body = content[_PREFIX_BYTES + length :]
    if len(body) != header["bytes"]:
        raise SegmentError(f"expected {header['bytes']:,} bytes of arrays, found {len(body):,}: cut short?", path)
    if verify and xxhash.xxh3_64_digest(body.data) != prefix[24:32]:
        raise SegmentError("the checksum does not fit the arrays: the file is damaged", path)
    if prefix[7] == _LINKS_ONLY and "links" in header:
        header["truths"] = [[print_predicate(_link(*link))] for link in header.pop("links")]
    return header, body


def _link(attribute: str, _: int, operator: str, other: str) -> Predicate:
    return Predicate(attribute, Operator(operator), Reference(other))


def _arrays(header: dict[str, Any], body: npt.NDArray[np.uint8], path: str) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for name, of, shape, at in header["arrays"]:
        dtype = np.dtype(of)
        size = int(np.prod(shape)) * dtype.itemsize
        if at + size > len(body):
            raise SegmentError(f"the array {name!r} ends past the end of the file", path)
        found[name] = np.asarray(body[at : at + size]).view(dtype).reshape(shape)
    return found


def _build(header: dict[str, Any], arrays: dict[str, Array], schema: Schema) -> Segment:
    places = Places(
        single_blocks=header["single_blocks"],
        any_dead=header["any_dead"],
        **{name: arrays[f"places.{name}"] for name in Places._fields if f"places.{name}" in arrays},
    )
    columns = Columns(
        {one["name"]: _attribute(arrays, at, one, schema) for at, one in enumerate(header["attributes"])},
        tuple(_truth(texts, schema) for texts in header["truths"]),
        arrays["slot_column"],
        arrays["slot_mode"],
    )
    layout = Layout(
        columns,
        Blocks(**{name: arrays[f"blocks.{name}"] for name in Blocks._fields}),
        arrays["block_sizes"],
        Clusters(**{name: arrays[f"clusters.{name}"] for name in Clusters._fields}),
        places,
        np.empty(0, np.int64),
        arrays.get("canon"),
        arrays["linked"],
        header["counts"],
        [Home(where, tuple(names), count, why) for where, names, count, why in header["homes"]],
    )
    ids = IdColumn(_id_array(arrays), header["marked"])
    index = IdIndex(ids, arrays["hashes"], arrays["hash_rows"])
    texts = _strings(arrays, "texts")
    return Segment(layout, ids, texts, arrays["sequence"], index, header["never"], header["dead"])


def _truth(texts: list[str], schema: Schema) -> TruthColumn:
    """Predicates in normal form, whose texts say just them."""
    members = tuple(predicate for text in texts for conjunction in parse(text, schema) for predicate in conjunction)
    return TruthColumn(truth_slot(members[0]), members)


def _attribute(arrays: dict[str, Array], at: int, found: dict[str, Any], schema: Schema) -> AttributeCodes:
    if found["finite"]:
        domain = schema.domain(found["name"])
        assert isinstance(domain, Finite), "the fingerprint says the schemas agree"
        return AttributeCodes({}, domain.numbers)
    dictionaries: dict[int, Dictionary] = {}
    for kind, how in found["kinds"].items():
        name = f"attribute.{at}.{kind}"
        if f"{name}.exact.starts" in arrays:
            listed = [_exact(text) for text in _strings(arrays, f"{name}.exact").to_pylist()]
            constants: Any = np.empty(len(listed), object)
            constants[:] = listed
        else:
            constants = _strings(arrays, name).cast(pa.string()) if int(kind) == Kind.STRING else arrays[name]
        dictionaries[Kind(int(kind))] = Dictionary(constants, how["ordered"])
    return AttributeCodes(dictionaries, domain_size=found["size"])


def _exact(text: str) -> int | float:
    return int(text[1:]) if text[0] == "i" else float.fromhex(text[1:])


def _id_array(arrays: dict[str, Array]) -> pa.Array:
    return pa.array(arrays["ids"]) if "ids" in arrays else _strings(arrays, "ids")


def _strings(arrays: dict[str, Array], name: str) -> pa.Array:
    starts = arrays[f"{name}.starts"]
    buffers = [pa.py_buffer(arrays[f"{name}.{part}"]) for part in ("valid", "starts", "bytes")]
    return pa.LargeStringArray.from_buffers(len(starts) - 1, buffers[1], buffers[2], buffers[0])
