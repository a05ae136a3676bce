"""A segment as one file: a small header, then aligned arrays, opened by memory map.

    8 bytes   "TAMSEG", a zero and the format's version
    8 bytes   length of the header in bytes
    8 bytes   xxh3 of the header
    8 bytes   xxh3 of everything after the header
    header    JSON: the arrays (name, type, shape, place), dictionaries, ids, what it uses of the schema
    arrays    each at a multiple of 64 bytes

Opening reads the header, sums the rest once, about ten gigabytes a second, and looks at every offset, length and code
(`structure`): a sum tells accidents, not intent. Pages come in when they are touched, and processes on one host share
them. Files are written to a temporary name, synced, renamed; nobody changes one in place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from tamis.batches.letters import letters_of
from tamis.errors import LanguageError, LimitError, SegmentError
from tamis.kernels.segments.blocks import Blocks
from tamis.kernels.segments.clusters import Clusters
from tamis.kernels.segments.finding import nothing_met
from tamis.kernels.segments.rows import Places
from tamis.language import parse, print_predicate
from tamis.model import Finite, Kind, Schema
from tamis.model.regions import has_truth
from tamis.model.schema_toml import domain_table
from tamis.model.values import show_raw
from tamis.segments.compile.codes import AttributeCodes, Dictionary
from tamis.segments.compile.coding import Columns
from tamis.segments.compile.layout import Home, Layout
from tamis.segments.compile.truths import TruthColumn, is_keyed, truth_slot
from tamis.segments.ids import IdColumn, IdIndex
from tamis.segments.keep.header import arrays_of, check_attributes, check_header
from tamis.segments.keep.structure import Broken, check_arrays, exact_numbers, expected, strings_at
from tamis.segments.segment import Segment
from tamis.segments.used import names_in
from tamis.store.atomic import from_the_system, refuse_link, why, write_atomically
from tamis.store.verify import checked_verify

__all__ = ["fingerprint", "open_listed", "open_segment", "save_segment", "sums_of"]

_MAGIC = b"TAMSEG\0"
_VERSION = 3
_PREFIX_BYTES = 32
_ALIGN = 64
_MOST_CODES = 2**31 - 1
_NAME = re.compile(r"segment-[0-9]+-[0-9]+\.seg")

Array = npt.NDArray[Any]
Content = npt.NDArray[np.uint8]


def fingerprint(schema: Schema, names: Iterable[str]) -> str:
    """What a segment that looks at these attributes must agree on with the schema it is opened under: their names, and
    their domains as they are there. A schema that was extended elsewhere agrees as well."""
    listed = sorted(names)
    found = {name: None if (domain := schema.domain(name)) is None else domain_table(domain) for name in listed}
    text = json.dumps([schema.open, found], ensure_ascii=False)
    return f"{xxhash.xxh3_128_hexdigest(text.encode())} {json.dumps(listed, ensure_ascii=False)}"


def _check_schema(found: str, schema: Schema, path: str) -> None:
    try:
        names = json.loads(found.partition(" ")[2] or "null")
    except (ValueError, RecursionError):
        raise Broken("the attributes that it looks at are not listed") from None
    if names is None:  # an older one names no attributes: its schema must be the same as a whole
        same = found == xxhash.xxh3_128_hexdigest(schema.dumps().encode())
    else:
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise Broken("the attributes that it looks at are not listed")
        same = found == fingerprint(schema, names)
    if not same:
        raise SegmentError("the segment was compiled under another schema", path)


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
        "schema": fingerprint(schema, names_in(layout.columns)),
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


def open_segment(path: Path, schema: Schema, *, verify: str = "full") -> Segment:
    """The segment in a file, by memory map; `verify` is one of `store.verify.VERIFY`.

    "full" looks at sums and structure, "structure" spares the sums. "trusted" looks at neither, whatever the size: for
    files that this user wrote and nobody else can have altered.
    """
    checked_verify(verify)
    try:
        content = np.memmap(path, np.uint8, "c")  # private pages: kernels see ordinary arrays, the file stays as it is
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and not from_the_system(error):
            raise
        raise SegmentError(f"expected a segment: {why(error)}", str(path)) from None
    try:
        header, body = _read_header(content, str(path), summed=verify == "full")
        _check_schema(header["schema"], schema, str(path))
        check_attributes(header, schema)
        arrays = arrays_of(header, body, _ALIGN)
        if arrays.keys() != expected(header, arrays):
            raise Broken("there are other arrays than there must be")
        if verify != "trusted":
            check_arrays(header, arrays)
        return _build(header, arrays, schema)
    except (Broken, LanguageError, LimitError) as error:
        raise SegmentError(f"expected a segment, found one that cannot be read: {error}", str(path)) from None


def open_listed(folder: Path, listed: tuple[Any, Any, Any], schema: Schema, *, verify: str = "full") -> Segment:
    """The segment of a folder that a list names, with its sums and those that died since; the list may say anything."""
    file, sums, dead = listed
    if not isinstance(file, str) or not _NAME.fullmatch(file):
        raise SegmentError(f"expected the name of a segment in the list, found {show_raw(file)}", str(folder))
    refuse_link(folder / file)
    if sums_of(folder / file) != sums:
        raise SegmentError("this is damaged, or another segment than the one listed", str(folder / file))
    return open_segment(folder / file, schema, verify=verify).bury_listed(dead, str(folder / file))


def sums_of(path: Path) -> str:
    """The two sums of a segment file: what tells it from every other. Nothing is verified."""
    try:
        with path.open("rb") as file:
            prefix = file.read(_PREFIX_BYTES)
    except OSError as error:
        if not from_the_system(error):
            raise
        raise SegmentError(f"expected a segment: {why(error)}", str(path)) from None
    if prefix.startswith(_MAGIC) and prefix[7:8] != bytes([_VERSION]):
        raise _of_another(prefix[7], str(path))
    return prefix[16:].hex()


def _of_another(version: int, path: str) -> SegmentError:
    age = "a newer" if version > _VERSION else "an older"
    return SegmentError(f"expected format {_VERSION}, found {version}; {age} Tamis may have written it", path)


def _read_header(content: Content, path: str, *, summed: bool) -> tuple[dict[str, Any], Content]:
    prefix = content[:_PREFIX_BYTES].tobytes()
    if len(prefix) < _PREFIX_BYTES or not prefix.startswith(_MAGIC):
        raise SegmentError("expected a segment, found another kind of file", path)
    if prefix[7] != _VERSION:
        raise _of_another(prefix[7], path)
    length = int.from_bytes(prefix[8:16], "little")
    text = content[_PREFIX_BYTES : _PREFIX_BYTES + min(length, len(content))].tobytes()
    if len(text) != length or xxhash.xxh3_64_digest(text) != prefix[16:24]:
        raise SegmentError("the checksum does not fit the header: the file is damaged or cut short", path)
    header = _parsed(text)
    body = content[_PREFIX_BYTES + length :]
    if len(body) != header["bytes"]:
        raise SegmentError(f"expected {header['bytes']:,} bytes of arrays, found {len(body):,}: cut short?", path)
    if summed and xxhash.xxh3_64_digest(body.data) != prefix[24:32]:
        raise SegmentError("the checksum does not fit the arrays: the file is damaged", path)
    return header, body


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise Broken("the header is no JSON") from None
    check_header(header)
    if (_PREFIX_BYTES + len(text)) % _ALIGN:
        raise Broken("the arrays do not begin where they must")
    return header


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
    clusters = Clusters(**{name: arrays[f"clusters.{name}"] for name in Clusters._fields})
    layout = Layout(
        columns,
        Blocks(**{name: arrays[f"blocks.{name}"] for name in Blocks._fields}),
        arrays["block_sizes"],
        clusters,
        places,
        np.empty(0, np.int64),
        arrays.get("canon"),
        arrays["linked"],
        header["counts"],
        [Home(where, tuple(names), count, why) for where, names, count, why in header["homes"]],
        nothing_met(clusters),
    )
    ids = IdColumn(pa.array(arrays["ids"]) if "ids" in arrays else strings_at(arrays, "ids"), header["marked"])
    index = IdIndex(ids, arrays["hashes"], arrays["hash_rows"])
    texts = strings_at(arrays, "texts")
    return Segment(layout, ids, texts, arrays["sequence"], index, header["never"], header["dead"])


def _truth(texts: list[str], schema: Schema) -> TruthColumn:
    """Predicates in normal form, whose texts say just them."""
    conjunctions = [conjunction for text in texts for conjunction in parse(text, schema)]
    members = tuple(predicate for conjunction in conjunctions for predicate in conjunction)
    slots = {truth_slot(one) for one in members if has_truth(one)}
    alone = len(members) == 1 or all(map(is_keyed, slots))
    if len(members) != len(texts) or not all(map(has_truth, members)) or len(slots) != 1 or not alone:
        raise Broken(f"{texts[0]!r} and what stands with it are no truths of one kind")
    return TruthColumn(slots.pop(), members)


def _attribute(arrays: dict[str, Array], at: int, found: dict[str, Any], schema: Schema) -> AttributeCodes:
    if found["finite"]:
        domain = schema.domain(found["name"])
        assert isinstance(domain, Finite), "checked with the header"
        return AttributeCodes({}, domain.numbers)
    dictionaries: dict[int, Dictionary] = {}
    for kind, how in found["kinds"].items():
        name = f"attribute.{at}.{kind}"
        if f"{name}.exact.starts" in arrays:
            listed = exact_numbers(arrays, name)
            constants: Any = np.empty(len(listed), object)
            constants[:] = listed
        else:
            constants = strings_at(arrays, name).cast(pa.string()) if int(kind) == Kind.STRING else arrays[name]
        dictionaries[Kind(int(kind))] = Dictionary(constants, how["ordered"])
    codes = AttributeCodes(dictionaries, domain_size=found["size"])
    if codes.last > _MOST_CODES:
        raise Broken(f"{found['name']!r} has more constants than there are codes")
    return codes
