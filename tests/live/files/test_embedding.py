"""Recordings in pages: what is kept within a budget, and what comes back."""

import base64
import json

import numpy as np
import pytest

import dsim as ds
from dsim.live.files.embedding import embedded
from dsim.live.files.standalone import in_script, page
from dsim.live.scene.encoding import restored, unpacked
from dsim.live.scene.layers import Arrows, GridLayer, Points
from dsim.live.scene.scene import Scene
from dsim.runtime.state.notices import DsimWarning
from tests.live.files.test_delta_coding import decoded

RANDOM = np.random.default_rng(0)


def frames(count, points=50):
    at, values = np.zeros((points, 2)), np.zeros(points)
    scene = Scene([Points(name="p", at=at, values=values, limits=(0, 1))], "t", [(0, 1), (0, 1)])
    made = []
    for step in range(count):
        at[...], values[...] = RANDOM.random((points, 2)), RANDOM.random(points)
        made.append(scene.frame(step + 1, step))
    return made


def steps(found):
    return [json.loads(text)["header"]["step"] for text in found.frames]


def arrays(text):
    """The numbers of the layers of an embedded frame."""
    told = json.loads(text)
    assert told["order"] == 0
    codes = iter(decoded(told["header"], 0, base64.b64decode(told["data"]), []))
    return [
        {name: numbers(each, next(codes)) for name, each in layer["arrays"].items()}
        for layer in told["header"]["layers"]
    ]


def numbers(described, codes):
    return restored(codes, described["low"], described["high"])


def test_frames_come_back_as_they_were():
    wind = RANDOM.normal(size=(6, 2))
    layers = (
        GridLayer(name="g", values=RANDOM.normal(size=(3, 2))),
        Points(name="p", at=RANDOM.random((5, 2)), values=np.array([0.0, np.nan, 1.0, 2.0, 3.0])),
        Arrows(name="a", at=RANDOM.random((6, 2)), vectors=wind, scale=1.0),
    )
    frame = Scene(layers, "t", [(0, 1), (0, 1)]).frame(1, 4, "warm")
    found = embedded([frame], 100_000)
    assert (found.left_out, found.note) == (0, "")
    header = json.loads(found.frames[0])["header"]
    assert (header["number"], header["step"], header["text"]) == (1, 4, "warm")
    for told, kept in zip(frame.header["layers"], arrays(found.frames[0]), strict=True):
        for name, described in told["arrays"].items():
            near = 0.0 if name != "vectors" else np.abs(wind).max() / 65534
            difference = np.abs(kept[name] - unpacked(described, frame.data))
            assert not (difference > near).any()


def test_vectors_of_length_0_stay():
    vectors = np.array([[0.0, 0.0], [3.0, -1.0]])
    frame = Scene([Arrows(name="a", at=np.eye(2), vectors=vectors, scale=1.0)], "t", None).frame(1)
    assert arrays(embedded([frame], 10_000).frames[0])[0]["vectors"][0].tolist() == [0.0, 0.0]


def test_a_recording_too_large_loses_frames_but_never_the_last():
    made = frames(10)
    each = max(len(embedded([frame], 10**9).frames[0]) for frame in made)
    whole = embedded(made, 10 * each)
    assert (steps(whole), whole.stride) == ([*range(10)], 1)
    half = embedded(made, 6 * each)
    assert (steps(half), half.left_out, half.stride) == ([0, 2, 4, 6, 8, 9], 4, 2)
    assert half.note == "6 of 10 frames: one in 2, and the last"
    assert steps(embedded(made, 2 * each)) == [0, 9]
    last = embedded(made, each)
    assert (steps(last), last.note) == ([9], "1 of 10 frames: the last")
    assert sum(map(len, half.frames)) <= 6 * each


def test_frames_that_the_recording_has_lost_are_told_too():
    found = embedded(frames(4), 10**9, added=14, every=4)
    assert found.note == "4 of 14 frames: one in 4, and the last"


def test_a_budget_too_small_for_a_frame():
    with pytest.raises(
        ds.DsimError, match=r"(?s)a frame takes more bytes of a page than its budget of 100\b.*help:"
    ):
        embedded(frames(1), 100)
    with pytest.raises(ds.DsimError, match="`budget` is a number of bytes, not 0"):
        embedded(frames(1), 0)


# -- the page


HOSTILE = "</script><script>alert(1)</script><!-- <b>&\"'"


def hostile():
    at = np.zeros((1, 2))
    scene = Scene([Points(name=HOSTILE, at=at, values=np.zeros(1))], HOSTILE, [(0, 1), (0, 1)])
    return scene, [scene.frame(1, text=HOSTILE)]


def test_text_of_people_ends_no_script_and_is_no_markup():
    scene, made = hostile()
    html = page(scene.json(), made, 10**6)
    assert "alert(1)</" not in html.replace("&lt;/script&gt;", "")
    assert html.count("<script") == 2
    assert html.count("</script>") == 2
    assert "<b>" not in html
    begin = html.index('id="dsim-recording">') + len('id="dsim-recording">')
    told = json.loads(html[begin : html.index("</script>", begin)])
    assert told["scene"] == scene.json()
    assert told["frames"][0]["header"]["text"] == HOSTILE


def test_braces_in_titles_are_no_places_of_the_template():
    scene = Scene([Points(name="p", at=np.zeros((1, 2)))], "{module} {0}", None)
    assert page(scene.json(), [scene.frame(1)], 10**6).count("{module} {0}") == 3


def test_a_page_loads_nothing():
    scene, made = hostile()
    html = page(scene.json(), made, 10**6)
    assert "default-src &#x27;none&#x27;" in html
    for text in (" src=", "<link", "@import", "url(", "fetch(", "XMLHttpRequest"):
        assert text not in html


def test_what_was_left_out_is_told_in_the_page_and_by_a_warning():
    made = frames(10)
    scene = Scene([Points(name="p", at=np.zeros((50, 2)))], "t", [(0, 1), (0, 1)]).json()
    budget = sum(len(text) for text in embedded(made, 10**9).frames) // 2
    with pytest.warns(DsimWarning, match=r"(?s)the page has 4 of 10 frames: one in 3, and the last.*budget"):
        html = page(scene, made, budget)
    assert "<p>This page has 4 of 10 frames: one in 3, and the last.</p>" in html


def test_json_in_a_script():
    text = json.dumps({"a": "</script><!--"})
    assert "<" not in in_script(text)
    assert json.loads(in_script(text)) == json.loads(text)


def test_a_view_without_a_recording_has_a_page_of_its_present_numbers(tmp_path):
    ds.view(np.zeros((2, 2)), title="two").save(tmp_path / "now.html")
    html = (tmp_path / "now.html").read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>")
    assert html.count('"data":') == 1
