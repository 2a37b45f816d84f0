"""Pages as a reader has them: elements, what they say, and the cells of tables."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """The elements of a page, each with its attributes, the text in it and the tags around it."""

    def __init__(self, page):
        super().__init__()
        self.elements, self._open = [], []
        self.feed(page)
        self.close()

    def handle_startendtag(self, tag, attributes):
        self._add(tag, attributes)

    def handle_starttag(self, tag, attributes):
        element = self._add(tag, attributes)
        if tag != "meta":
            self._open.append(element)

    def handle_endtag(self, tag):
        assert self._open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self._open:
            element["text"] += data

    def _add(self, tag, attributes):
        around = [element["tag"] for element in self._open]
        self.elements.append({**dict(attributes), "tag": tag, "text": "", "around": around})
        return self.elements[-1]

    @property
    def text(self):
        """What the page says, words parted by one blank."""
        return " ".join(self.all("main")[0]["text"].split())

    def all(self, *tags):
        """The elements with one of these tags."""
        return [element for element in self.elements if element["tag"] in tags]

    def cells(self, caption):
        """The rows of the tables whose captions have these words."""
        rows, here = [], False
        for element in self.elements:
            if element["tag"] == "table":
                here = caption in element["text"]
            elif here and element["tag"] == "tr":
                rows.append([])
            elif here and element["tag"] in {"th", "td"}:
                rows[-1].append(element["text"].strip())
        return rows
