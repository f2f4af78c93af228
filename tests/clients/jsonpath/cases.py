"""Generates JSON paths and documents, and evaluates them with an implementation of RFC 9535.

Usage: cases.py SEED COUNT

Prints one JSON object a line: the query, the text of the document, and the locations of the selected
nodes in order, or null if the query is not valid. Equal arguments give equal lines. The test
src/expressions/path/tests/reference.rs reads them and evaluates the same queries.

The queries stay within the bounds and the differences that the program has by design: see that test.
"""

import json
import random
import re
import sys

import jsonpath_rfc9535

NAMES = ["a", "b", "c", "d_1", "\u00e9", "x y", "it's", 'q"', "0", "-", "", "\\", "/", "\U0001f512"]
SHORTHAND = ["a", "b", "c", "d_1", "\u00e9", "_", "A9"]
TEXTS = ["", "a", "b", "ab", "abc", "ABC", "a\nb", "\u00e9", "12", "x y", "\U0001f512", "aaa"]
PATTERNS = ["a", "a.c", "[a-c]+", "[^a]", "a*b?", "(a|b)+", "a{2}", "[0-9]{1,2}", ".*", "", "\\\\.",
            "ab|c", "[\u00e9a]", "a{1,}", "[\\\\-a]+", "(ab)*c"]
NUMBERS = ["0", "1", "2", "-1", "1.0", "0.5", "-0", "-0.0", "1e2", "1E-1", "10", "3", "100", "2.50"]
SPACES = ["", "", "", "", " ", "\t", "\n", "  ", "\r"]
NOISE = list("$@.[]*?()'\",:-+ \t\n!&|=<>01aeE_\\/{}\u00e9\u00a0") + ["..", "[?", "==", "&&", "\\u", "\\ud83d"]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, items):
        return self.random.choice(items)

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def space(self):
        return self.pick(SPACES)

    # Documents

    def document(self, depth=0):
        kind = self.random.randrange(10)
        if depth == 0:
            kind = self.random.randrange(6)
        if depth > 3:
            kind = self.random.randrange(6, 10)
        if kind < 3:
            names = self.random.sample(NAMES, self.random.randrange(0, 5))
            return {name: self.document(depth + 1) for name in names}
        if kind < 6:
            return [self.document(depth + 1) for _ in range(self.random.randrange(0, 6))]
        if kind == 6:
            return self.pick(TEXTS)
        if kind == 7:
            return json.loads(self.pick(NUMBERS))
        return self.pick([None, True, False, 0, 1, 2, "a"])

    # Queries

    def query(self, start="$", depth=0):
        return start + "".join(self.segment(depth) for _ in range(self.random.randrange(0, 4)))

    def segment(self, depth):
        kind = self.random.randrange(10)
        space = self.space()
        if kind < 3:
            return f"{space}.{self.pick(SHORTHAND)}"
        if kind == 3:
            return f"{space}.*"
        if kind == 4:
            return f"{space}..{self.pick(SHORTHAND + ['*'])}"
        if kind == 5:
            return f"{space}..{self.bracketed(depth)}"
        return f"{space}{self.bracketed(depth)}"

    def bracketed(self, depth):
        count = self.pick([1, 1, 1, 2, 3])
        selectors = [self.space() + self.selector(depth) + self.space() for _ in range(count)]
        return f"[{','.join(selectors)}]"

    def selector(self, depth):
        kind = self.random.randrange(10)
        if kind < 3:
            return self.quoted(self.pick(NAMES))
        if kind < 5:
            return str(self.random.randrange(-4, 5))
        if kind == 5:
            return "*"
        if kind < 8 or depth > 1:
            return self.slice()
        return f"?{self.space()}{self.any_of(depth + 1)}"

    def slice(self):
        def end():
            return "" if self.chance(40) else str(self.random.randrange(-6, 7))

        text = f"{end()}{self.space()}:{self.space()}{end()}"
        if self.chance(60):
            text += f"{self.space()}:{self.space()}{end()}"
        return text

    def quoted(self, text):
        quote = self.pick("'\"")
        out = ""
        for letter in text:
            if letter in (quote, "\\"):
                out += "\\" + letter
            elif ord(letter) < 32 or self.chance(4):
                units = letter.encode("utf-16-be")
                for at in range(0, len(units), 2):
                    code = f"{units[at]:02x}{units[at + 1]:02x}"
                    out += "\\u" + (code.upper() if self.chance(50) else code)
            else:
                out += letter
        return quote + out + quote

    def any_of(self, depth):
        parts = [self.all_of(depth) for _ in range(self.pick([1, 1, 1, 2]))]
        return f"{self.space()}||{self.space()}".join(parts)

    def all_of(self, depth):
        parts = [self.basic(depth) for _ in range(self.pick([1, 1, 1, 2]))]
        return f"{self.space()}&&{self.space()}".join(parts)

    def basic(self, depth):
        kind = self.random.randrange(12)
        negation = "!" + self.space() if self.chance(20) else ""
        if kind == 0 and depth < 3:
            return f"{negation}({self.space()}{self.any_of(depth + 1)}{self.space()})"
        if kind < 3:
            return negation + self.query(self.pick("@@$"), depth + 1)
        if kind < 5:
            name = self.pick(["match", "search"])
            text = self.comparable(depth) if self.chance(30) else self.singular()
            pattern = self.pattern() if self.chance(85) else self.singular()
            return (f"{negation}{name}({self.space()}{text}{self.space()},{self.space()}{pattern}"
                    f"{self.space()})")
        operator = self.pick(["==", "!=", "<", "<=", ">", ">="])
        return (f"{self.comparable(depth)}{self.space()}{operator}{self.space()}"
                f"{self.comparable(depth)}")

    def pattern(self):
        return "'" + self.pick(PATTERNS) + "'"

    def comparable(self, depth):
        kind = self.random.randrange(10)
        if kind < 4:
            return self.singular()
        if kind < 6:
            return self.literal()
        if kind == 6:
            inside = self.singular() if self.chance(80) else self.literal()
            return f"length({self.space()}{inside}{self.space()})"
        if kind == 7:
            return f"count({self.space()}{self.query(self.pick('@$'), depth + 2)}{self.space()})"
        if kind == 8:
            return f"value({self.space()}{self.query(self.pick('@$'), depth + 2)}{self.space()})"
        return self.literal()

    def singular(self):
        text = self.pick("@@@$")
        for _ in range(self.random.randrange(0, 3)):
            kind = self.random.randrange(3)
            if kind == 0:
                text += f"{self.space()}.{self.pick(SHORTHAND)}"
            elif kind == 1:
                text += f"{self.space()}[{self.space()}{self.quoted(self.pick(NAMES))}{self.space()}]"
            else:
                text += f"[{self.random.randrange(-3, 4)}]"
        return text

    def literal(self):
        kind = self.random.randrange(4)
        if kind == 0:
            return self.pick(["true", "false", "null"])
        if kind == 1:
            return self.pick(NUMBERS)
        return self.quoted(self.pick(TEXTS))

    def broken(self, query):
        letters = list(query)
        for _ in range(self.pick([1, 1, 2, 3])):
            at = self.random.randrange(len(letters) + 1)
            kind = self.random.randrange(4)
            if kind == 0:
                letters.insert(at, self.pick(NOISE))
            elif kind == 1 and at < len(letters):
                del letters[at]
            elif kind == 2 and at < len(letters):
                letters[at] = self.pick(NOISE)
            else:
                other = self.random.randrange(len(letters) + 1)
                letters[at:at] = letters[other:other + 3]
        return "".join(letters)


# Faults of the implementation. If the current value is no container, it takes `@` for the value and not
# for a node: a test for existence fails for 0, and functions of nodes fail. It overlooks a second number
# behind the bound of a slice, takes `a < b < c`, `a < !b` and `!!a`.
UNUSABLE = re.compile(
    r"(count|value)\s*\(\s*@\s*\)"
    r"|(\?|!|&&|\|\||(?<![a-z])\()\s*@\s*(\]|,|\)|&&|\|\|)"
    r"|:\s*-?[0-9]+\s+-?[0-9]"
    r"|:\s*-?[0-9]+-"
    r"|[<>=!]\s*!"
    r"|(==|!=|<=?|>=?)([^&|,\[\]()?]|\[[^\[\],?]*\])*(==|!=|<=?|>=?)"
)
# Longer ones may have more parts than the program takes.
QUERY_CHARS_MAX = 200


def evaluate(query, document):
    """The locations of the selected nodes, or None for an invalid query."""
    try:
        compiled = jsonpath_rfc9535.compile(query)
    except jsonpath_rfc9535.JSONPathError:
        return None
    return [list(node.location) for node in compiled.find(document)]


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    generator = Generator(seed)
    while count > 0:
        document = generator.document()
        query = generator.query()
        if generator.chance(35):
            query = generator.broken(query)
        if UNUSABLE.search(query) or len(query) > QUERY_CHARS_MAX:
            continue
        count -= 1
        nodes = evaluate(query, document)
        print(json.dumps({"query": query, "document": json.dumps(document), "nodes": nodes}))


main()
