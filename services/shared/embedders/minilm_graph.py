"""Builds the ONNX graph of all-MiniLM-L6-v2 from its weights, in fp32 or with int8 matrix products.

The network is BERT (Devlin et al. 2019, arXiv 1810.04805) with 6 layers, 12 heads and 384 dimensions; the embedding
is the mean of the token vectors, at unit length (Reimers and Gurevych 2019, arXiv 1908.10084).

In int8, weights have one scale a column and activations one a token, chosen when they come. One a batch, as
`quantize_dynamic` makes it, is as fast, but a text's vector then depends on the texts it shares its batch with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Precision = Literal["fp32", "int8"]

LAYERS, HEADS, WIDTH = 6, 12, 384
EPSILON = 1e-12
OPSET, IR_VERSION = 18, 9
MICROSOFT = "com.microsoft"  # the domain of onnxruntime's fused operators
MIDDLE = np.array(128, np.uint8)  # stands for an activation of 0

Weights = Mapping[str, NDArray[np.float32]]


READ = (2, 4, 6)
"""The layers behind which the heads read a token's state: the middle ones know of words what the last have left."""


def build_graph(weights: Weights, precision: Precision, heads: Weights | None = None) -> onnx.ModelProto:
    """The model: `input_ids` and `attention_mask`, int64 (batch, tokens) → `embedding`, float (batch, 384).

    With heads it gives `readings`, too, float (batch, tokens, outputs): a tanh layer over the states of each token
    behind three layers, then a linear one over its own and its two neighbours' (`services/shared/reading/decode.py`).
    """
    return _Graph(weights, precision, heads).model()


def merged(weights: Weights, adapter: Weights) -> dict[str, NDArray[np.float32]]:
    """The weights with a low-rank adapter added (Hu et al. 2021, arXiv 2106.09685): a · b beside each linear map."""
    found = dict(weights)
    for name in adapter:
        if name.endswith(".a"):
            linear = f"{name.removesuffix('.a')}.weight"
            found[linear] = weights[linear] + (adapter[name] @ adapter[f"{name.removesuffix('a')}b"]).T
    return found


class _Graph:
    def __init__(self, weights: Weights, precision: Precision, heads: Weights | None) -> None:
        self._weights = weights
        self._precision = precision
        self._heads = heads
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}

    def model(self) -> onnx.ModelProto:
        state = self._embeddings()
        mask = self._node("Cast", "attention_mask", to=TensorProto.INT32)
        states = [state]
        for layer in range(LAYERS):
            states.append(self._layer(f"encoder.layer.{layer}", states[-1], mask))
        column = self._pooled(states[-1])
        batch_of_tokens = ["batch", "tokens"]
        outputs = [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", WIDTH])]
        if self._heads is not None:
            count = self._read([states[layer] for layer in READ], column, self._heads)
            outputs.append(helper.make_tensor_value_info("readings", TensorProto.FLOAT, [*batch_of_tokens, count]))
        graph = helper.make_graph(
            self._nodes,
            f"all-MiniLM-L6-v2-{self._precision}",
            [
                helper.make_tensor_value_info(name, TensorProto.INT64, batch_of_tokens)
                for name in ("input_ids", "attention_mask")
            ],
            outputs,
            list(self._constants.values()),
        )
        domains = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=domains, ir_version=IR_VERSION)

    def _embeddings(self) -> str:
        """Word + position + token type 0, normalised. Words are kept in half precision: half of the file."""
        table = self._weights["embeddings.word_embeddings.weight"]
        words = self._constant("words", table.astype(np.float16 if self._precision != "fp32" else np.float32))
        looked_up = self._node("Cast", self._node("Gather", words, "input_ids"), to=TensorProto.FLOAT)
        positions = self._weights["embeddings.position_embeddings.weight"]
        first_type = self._weights["embeddings.token_type_embeddings.weight"][0]
        tokens = self._node("Shape", "input_ids", start=1, end=2)
        zero = self._constant("zero", np.array([0], np.int64))
        placed = self._node("Slice", self._constant("positions", positions + first_type), zero, tokens, zero)
        return self._normalised(self._node("Add", looked_up, placed), "embeddings.LayerNorm")

    def _layer(self, name: str, state: str, mask: str) -> str:
        attended = self._linear(
            self._attention(f"{name}.attention.self", state, mask), f"{name}.attention.output.dense"
        )
        state = self._skip_normalised(attended, state, f"{name}.attention.output")
        widened = self._linear(state, f"{name}.intermediate.dense")
        bias = self._weight(f"{name}.intermediate.dense.bias")
        activated = self._node("BiasGelu", widened, bias, domain=MICROSOFT)
        return self._skip_normalised(self._linear(activated, f"{name}.output.dense"), state, f"{name}.output")

    def _attention(self, name: str, state: str, mask: str) -> str:
        """Attention of 12 heads; query, key and value come from one product."""
        parts = [f"{name}.{part}" for part in ("query", "key", "value")]
        joined = np.concatenate([self._weights[f"{part}.weight"].T for part in parts], axis=1)
        bias = np.concatenate([self._weights[f"{part}.bias"] for part in parts])
        product = self._product(state, f"{name}.qkv", joined)
        sizes = self._constant("thirds", np.array([WIDTH] * 3, np.int64))
        query, key, value = (f"{product}/{part}" for part in ("query", "key", "value"))
        self._nodes.append(helper.make_node("Split", [product, sizes], [query, key, value], axis=-1))
        biases = self._constant(f"{name}.qkv.bias", bias)
        return self._node("MultiHeadAttention", query, key, value, biases, mask, domain=MICROSOFT, num_heads=HEADS)

    def _pooled(self, state: str) -> str:
        """Sum over the tokens that are not padding, at unit length: the count of the mean would cancel out.

        Returns 1 for each of those tokens and 0 for padding, shape (batch, tokens, 1).
        """
        mask = self._node("Cast", "attention_mask", to=TensorProto.FLOAT)
        column = self._node("Unsqueeze", mask, self._constant("last", np.array([-1], np.int64)))
        axis = self._constant("tokens", np.array([1], np.int64))
        total = self._node("ReduceSum", self._node("Mul", state, column), axis, keepdims=0)
        self._nodes.append(helper.make_node("LpNormalization", [total], ["embedding"], axis=-1, p=2))
        return column

    def _read(self, states: list[str], column: str, heads: Weights) -> int:
        """Add the heads; how many outputs they have for each token. What stands beside the first and last is zero, and
        so is padding."""
        joined = self._node("Concat", *states, axis=-1)
        hidden = self._product(joined, "read", heads["read.w"])
        hidden = self._node("Tanh", self._node("Add", hidden, self._constant("read.b", heads["read.b"])))
        # One product for the token itself and both neighbours, whose parts are then moved by one place.
        three = np.concatenate([heads[f"{side}.w"] for side in ("out", "left", "right")], axis=1)
        product = self._product(hidden, "heads", three)
        count = len(heads["out.b"])
        sizes = self._constant("heads.sizes", np.array([count] * 3, np.int64))
        own, left, right = (f"{product}/{part}" for part in ("own", "left", "right"))
        self._nodes.append(helper.make_node("Split", [product, sizes], [own, left, right], axis=-1))
        total = self._node("Add", own, self._constant("heads.b", heads["out.b"]))
        total = self._node("Add", total, self._moved(left, before=1))
        self._nodes.append(
            helper.make_node("Add", [total, self._moved(self._node("Mul", right, column), before=-1)], ["readings"])
        )
        return count

    def _moved(self, values: str, *, before: int) -> str:
        """The values with one token more at one end, and one less at the other."""
        pads = self._constant(f"moved {before}", np.array([0, before, 0, 0, -before, 0], np.int64))
        return self._node("Pad", values, pads)

    def _linear(self, state: str, name: str) -> str:
        """The product without its bias, which the operator that follows adds."""
        return self._product(state, name, self._weights[f"{name}.weight"].T)

    def _product(self, state: str, name: str, matrix: NDArray[np.float32]) -> str:
        if self._precision == "fp32":
            return self._node("MatMul", state, self._constant(name, matrix))
        columns = _column_scales(matrix)
        integers = np.rint(matrix / columns).astype(np.int8)
        rows, quantized = self._quantized(state)
        factors = (self._constant("one", np.array(1, np.float32)), self._constant(f"{name}.scale", columns))
        inputs = (quantized, self._constant(name, integers), *factors, self._constant("middle", MIDDLE))
        return self._node("Mul", self._node("MatMulIntegerToFloat", *inputs, domain=MICROSOFT), rows)

    def _quantized(self, state: str) -> tuple[str, str]:
        """The scale of each token, shape (batch, tokens, 1), and its activations divided by it as uint8 around 128."""
        last = self._constant("last", np.array([-1], np.int64))
        largest = self._node("ReduceMax", self._node("Abs", state), last, keepdims=1)
        rows = self._node("Mul", largest, self._constant("one 127th", np.array(1 / 127, np.float32)))
        one = self._constant("one", np.array(1, np.float32))
        middle = self._constant("middle", MIDDLE)
        return rows, self._node("QuantizeLinear", self._node("Div", state, rows), one, middle)

    def _normalised(self, state: str, name: str) -> str:
        scale, shift = self._weight(f"{name}.weight"), self._weight(f"{name}.bias")
        return self._node("LayerNormalization", state, scale, shift, axis=-1, epsilon=EPSILON)

    def _skip_normalised(self, state: str, skipped: str, name: str) -> str:
        """LayerNorm of state + what skipped it + bias of the dense layer before it.

        One SkipLayerNormalization does the same, and takes three times as long.
        """
        total = self._node("Add", self._node("Add", state, skipped), self._weight(f"{name}.dense.bias"))
        return self._normalised(total, f"{name}.LayerNorm")

    def _weight(self, name: str) -> str:
        return self._constant(name, self._weights[name])

    def _constant(self, name: str, array: NDArray[np.generic]) -> str:
        if name not in self._constants:
            self._constants[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def _node(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        output = f"{kind}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **attributes))
        return output


def _column_scales(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """The least factor a column with which a weight, and two neighbours of one sign together, stay within 127.

    Processors without VNNI add the products of two neighbours in 16 bits, which 255 · 127 twice would overflow.
    """
    pairs = [np.maximum(signed, 0).reshape(-1, 2, matrix.shape[1]).sum(axis=1) for signed in (matrix, -matrix)]
    scales: NDArray[np.float32] = np.concatenate(pairs).max(axis=0) / 127
    return scales
