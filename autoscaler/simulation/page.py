"""What all reports share: pages that need nothing but a browser, and the style of pictures."""

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from plotly.graph_objects import Figure
from plotly.offline import get_plotlyjs

from autoscaler.simulation.colors import TEXT

FONT = {"family": "system-ui, sans-serif", "size": 12, "color": TEXT}
# The bar of buttons hides the titles of pictures.
CONFIG = {"displayModeBar": False}


def render_page(template: str, **values: object) -> str:
    """Return the page of a template; whatever is no markup is escaped."""
    environment = Environment(
        loader=PackageLoader("autoscaler.simulation", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
    )
    # The library is a constant of its package, and no one else's text.
    plotly = Markup(get_plotlyjs())
    return environment.get_template(template).render(plotly=plotly, **values)


def picture(figure: Figure, name: str) -> Markup:
    """Return a figure as HTML under a fixed name, so that pages can be compared."""
    html = figure.to_html(full_html=False, include_plotlyjs=False, div_id=name, config=CONFIG)
    return Markup(html)


def styled(figure: Figure) -> Figure:
    """Return the figure in the style of the reports."""
    figure.update_layout(
        template="plotly_white",
        font=FONT,
        margin={"l": 60, "r": 20, "t": 50, "b": 40},
        legend={"orientation": "h", "y": 1.04, "x": 1, "xanchor": "right", "yanchor": "bottom"},
        hoverlabel={"align": "left"},
    )
    figure.update_annotations(font={**FONT, "size": 13}, xanchor="left", x=0)
    return figure
