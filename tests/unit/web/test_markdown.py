import pytest

from orchestrator.web.markdown import render


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("# Title", "<h4>Title</h4>\n"),
        ("#### Deep", "<h6>Deep</h6>\n"),
        ("**b** `c` ~~s~~", "<p><strong>b</strong> <code>c</code> <s>s</s></p>\n"),
        ("<b>x</b>", "<p>&lt;b&gt;x&lt;/b&gt;</p>\n"),
        ("<!-- hidden -->", "<p>&lt;!-- hidden --&gt;</p>\n"),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>\n"),
        ("[x](data:text/html,hi)", "<p>[x](data:text/html,hi)</p>\n"),
        ("[x](a.md)", '<p><a href="a.md" rel="noopener noreferrer nofollow">x</a></p>\n'),
        (
            "![x](http://e.example/i.png)",
            '<p><a href="http://e.example/i.png" rel="noopener noreferrer">x</a></p>\n',
        ),
        (
            "![](http://e.example/i.png)",
            '<p><a href="http://e.example/i.png" rel="noopener noreferrer">image</a></p>\n',
        ),
        ("```py\na < b\n```", '<pre><code class="language-py">a &lt; b\n</code></pre>\n'),
    ],
)
def test_markdown_becomes_harmless_html(text, html):
    assert render(text) == html


def test_columns_are_aligned_by_class_because_styles_are_forbidden():
    html = render("| a | b |\n|---|--:|\n| 1 | 2 |")
    assert '<td class="align-right">2</td>' in html
    assert "<td>1</td>" in html
    assert "style" not in html
