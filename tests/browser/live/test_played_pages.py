"""The pages of `View.save`: one file, no kernel, no network."""

import io

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

import dsim as ds
from dsim.live.scene.layers import Arrows
from tests.browser.conftest import SCREENSHOTS, Watch

TITLE = '</script><b>{0}</b> & "a dot"'
STEPS = 8


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A page of a dot that goes to the right, and one of a cloud."""
    folder = tmp_path_factory.mktemp("played")
    at = np.zeros((1, 2))
    dot = ds.view(lambda: at, color="#ff00ff", size=40, bounds=[(0, 1), (0, 1)], title=TITLE)
    for step in range(STEPS):
        at[0] = (step + 0.5) / STEPS, 0.5
        dot.record(step=10 * step, text="<i>warm</i>")
    dot.save(folder / "dot.html")
    cloud = np.random.default_rng(0).random((500, 3))
    deep = ds.view(
        cloud, Arrows(name="wind", at=cloud[:20], vectors=cloud[20:40]), color=cloud[:, 0], title="deep"
    )
    deep.save(folder / "deep.html")
    return folder


@pytest.fixture
def played(browser: Browser, files):
    """Opens a page without a network."""
    context = browser.new_context(viewport={"width": 800, "height": 800}, offline=True)
    pages = []

    def opened(name: str) -> Page:
        page = context.new_page()
        page.watch = Watch(page)
        page.goto((files / name).as_uri())
        pages.append(page)
        return page

    yield opened
    for page in pages:
        # A screenshot reads what WebGL has drawn, which drivers find slow.
        assert [text for text in page.watch.said if "GL Driver Message" not in text] == []
        assert [url for url in page.watch.asked if not url.startswith(("file:", "blob:", "data:"))] == []
    context.close()


def dot(page: Page) -> float | None:
    """Where the dot is, as a fraction of the width of the picture."""
    with Image.open(io.BytesIO(page.locator(".dsim-view-stage").screenshot())) as picture:
        pixels = np.asarray(picture.convert("RGB")).astype(int)
    columns = np.nonzero((pixels[..., 0] > 200) & (pixels[..., 1] < 60) & (pixels[..., 2] > 200))[1]
    return float(columns.mean()) / pixels.shape[1] if columns.size else None


def test_a_page_seeks_by_slider_and_keys(played):
    page = played("dot.html")
    text, slider = page.locator(".dsim-view-text"), page.get_by_role("slider", name="recorded frame")
    expect(text).to_have_text("step 70 · <i>warm</i>")
    assert dot(page) == pytest.approx(7.5 / STEPS, abs=0.02)
    for frame in (0, 5, 2):
        slider.fill(str(frame))
        expect(text).to_have_text(f"step {10 * frame} · <i>warm</i>")
        assert dot(page) == pytest.approx((frame + 0.5) / STEPS, abs=0.02)
    stage = page.locator(".dsim-view-stage")
    stage.press("ArrowRight")
    expect(text).to_have_text("step 30 · <i>warm</i>")
    stage.press("Home")
    expect(text).to_have_text("step 0 · <i>warm</i>")


def test_a_page_plays_to_its_end(played):
    page = played("dot.html")
    expect(page.locator(".dsim-view-text")).to_contain_text("step 70")
    page.evaluate(
        """() => {
            window.steps = [];
            const text = document.querySelector('.dsim-view-text');
            new MutationObserver(() => window.steps.push(text.textContent)).observe(text, {
                childList: true, characterData: true, subtree: true,
            });
        }"""
    )
    page.get_by_label("speed").select_option("0.25")
    page.get_by_role("button", name="play").click()
    expect(page.get_by_role("button", name="pause")).to_be_visible()
    expect(page.get_by_role("button", name="play")).to_be_visible()
    expect(page.locator(".dsim-view-text")).to_have_text("step 70 · <i>warm</i>")
    seen = [int(text.split()[1]) for text in page.evaluate("window.steps")]
    assert seen == sorted(seen)
    assert len(seen) >= 3, "frames on the way are shown"
    assert dot(page) == pytest.approx(7.5 / STEPS, abs=0.02)


def test_the_signs_of_a_player_need_no_font(played):
    page = played("dot.html")
    play, again = (page.get_by_role("button", name=name) for name in ("play", "repeat"))
    assert signs(page) == ["play", "repeat"]
    assert [button.inner_text().strip() for button in (play, again)] == ["", ""]
    page.get_by_label("speed").select_option("0.25")
    again.click()
    play.click()
    expect(page.get_by_role("button", name="pause")).to_be_visible()
    assert signs(page) == ["pause", "repeat"]
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.locator(".dsim-view-player").screenshot(path=SCREENSHOTS / "player-pause.png")
    again.click()
    page.get_by_role("button", name="pause").click()
    expect(page.get_by_role("button", name="play")).to_be_visible()
    page.locator(".dsim-view-player").screenshot(path=SCREENSHOTS / "player-play.png")
    assert page.locator(".dsim-view-play path").bounding_box()["width"] > 5


def signs(page: Page) -> list[str]:
    return page.locator(".dsim-view-sign").evaluate_all("found => found.map(each => each.dataset.sign)")


def test_titles_are_text(played):
    page = played("dot.html")
    expect(page.get_by_role("heading")).to_have_text(TITLE)
    assert page.title() == TITLE
    assert page.locator("b, i").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_three_dimensions_without_a_recording(played, scheme):
    page = played("deep.html")
    page.emulate_media(color_scheme=scheme)
    expect(page.locator(".dsim-view-stage")).to_be_visible()
    expect(page.locator(".dsim-view-player")).to_be_hidden()
    expect(page.locator(".dsim-view-legend")).to_contain_text("points")
    with Image.open(io.BytesIO(page.locator(".dsim-view-stage").screenshot())) as picture:
        assert len(set(picture.convert("RGB").get_flattened_data())) > 50
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"played-{scheme}.png")
