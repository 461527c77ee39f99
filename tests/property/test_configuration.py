"""Properties of configurations: names stand for content, files read back."""

from hypothesis import given
from hypothesis import strategies as st

from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.configuration import (
    layout_of,
    node_configuration,
    parse_configurations,
    render_configurations,
)
from autoscaler.domain.mig.layouts import multisets
from autoscaler.domain.mig.profile import load_models
from autoscaler.domain.mig.resource import label_safe


@st.composite
def nodes(draw):
    """Draw a model and the layout of a node with one to four of its GPUs."""
    model = draw(st.sampled_from(load_models()))
    gpu = st.one_of(st.none(), st.sampled_from(multisets(model)))
    return model, tuple(draw(st.lists(gpu, min_size=1, max_size=4)))


@given(nodes())
def test_a_configuration_stands_for_its_layout(node):
    """Written, read and expanded it is the layout again, under a name for a label."""
    model, layout = node
    name, entries = node_configuration(model, layout)
    text = render_configurations({name: entries})
    assert label_safe(name) == name
    assert layout_of(parse_configurations(text)[name], len(layout), model) == layout


@given(nodes(), nodes())
def test_one_name_means_one_layout(first, second):
    """Nodes that share a name and a model share the layout."""
    (one, left), (other, right) = first, second
    same_name = node_configuration(one, left)[0] == node_configuration(other, right)[0]
    if one == other and len(left) == len(right):
        assert same_name == (left == right)


FILE = """version: v1
mig-configs:
  a:
  - devices: all
  - devices: [0]
    mig-enabled: true
    mig-devices: {1g.5gb: 7}
    x: &y
""".splitlines(keepends=True)
ODDITIES = ["  - ", "{", "[", "}", ": ", "*y\n", "<<: ", "!!int x\n", "2024-99-99\n", "\t", "'"]
PIECES = st.sampled_from([*FILE, *ODDITIES])


@given(st.one_of(st.text(), st.lists(PIECES, max_size=12).map("".join)))
def test_any_text_is_a_file_or_is_refused(text):
    """No text ends in another error than the one that names the file."""
    try:
        found = parse_configurations(text, "any.yaml")
    except ConfigError as error:
        refusal = str(error)
    else:
        refusal = "any.yaml"
        assert parse_configurations(render_configurations(found)) == found
    assert refusal.startswith("any.yaml")
