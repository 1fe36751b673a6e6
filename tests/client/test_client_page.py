"""The blocks of docs/client.md run as they stand."""

import ast
import inspect
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "client.md"


async def test_blocks_of_the_page_run(klamm_address: str) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, object] = {}

    for block in blocks:
        source = block.replace("localhost:9092", klamm_address)
        code = compile(source, str(PAGE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        result = eval(code, names)
        if inspect.iscoroutine(result):
            await result

    assert len(blocks) == 5
