"""A view over an axis of time: its player, and another run while a person looks at a step."""

import numpy as np
from playwright.sync_api import expect

from tests.browser.live.test_views import cells, red, stage, wait_for
from tests.browser.server import START_SECONDS

PATH = """\
import dsim as ds
import numpy as np
T = 9
path = ds.Vector.field(2, ds.f32, shape=(T, 1), name="path")
def run(height):
    path.from_numpy(np.array([[[t + 1.0, height]] for t in range(T)], np.float32))
run(1.0)
view = ds.view(path, time=0, color="#d02020", size=30, bounds=[(0, 10), (0, 5)])
view"""


def place(drawn, across: float, up: float) -> None:
    """Waits until the dot is there, in units of the picture."""

    def there(picture: np.ndarray) -> bool:
        rows, columns = np.nonzero(red(picture))
        if not len(rows):
            return False
        height, width = picture.shape[:2]
        found = columns.mean() / width * 10, (1 - rows.mean() / height) * 5
        return max(abs(found[0] - across), abs(found[1] - up)) < 0.15

    wait_for(drawn, there, f"the dot at {across}, {up}")


def test_steps_are_played_and_follow_another_run(lab):
    lab.open(*cells(PATH, "run(4.0)\nview.update(text='again')"), kernel=True)
    lab.run_all()
    drawn, text = stage(lab, 0), lab.cell(0).locator(".dsim-view-text")
    expect(drawn).to_be_visible(timeout=START_SECONDS * 1000)
    place(drawn, 9, 4)
    expect(lab.cell(0).locator(".dsim-view-at")).to_have_text("9 / 9")
    lab.cell(0).get_by_role("slider", name="recorded frame").fill("2")
    expect(text).to_have_text("step 2 · again")
    place(drawn, 3, 4)
    # Who looks at step 2 sees step 2 of the next run, too.
    lab.page.evaluate(
        """() => {
            const { content } = window.jupyterapp.shell.currentWidget;
            content.activeCellIndex = 1;
            content.activeCell.model.sharedModel.setSource("run(2.0); view.update(text='third')");
            return window.jupyterapp.commands.execute('notebook:run-cell').then(() => null);
        }"""
    )
    expect(text).to_have_text("step 2 · third")
    place(drawn, 3, 2)
    lab.shoot("view-over-time")
