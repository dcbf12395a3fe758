"""The fixture itself: a page that is well hears nothing, one that throws is heard."""


def test_a_page_that_throws_is_heard(open_page, complaints, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("<!doctype html><title>t</title><script>throw new Error('planted')</script>", encoding="utf-8")
    open_page(path)
    assert [text for text in complaints if "planted" in text]
    complaints.clear()
