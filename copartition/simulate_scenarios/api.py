"""Import the public names of the package."""

from copartition.deploys.scenario import scenario_of as scenario_of
from copartition.deploys.scenario import scenarios_of_record as scenarios_of_record
from copartition.deploys.scenario import with_waiting as with_waiting
from copartition.simulate_scenarios.size_search import Size as Size
from copartition.simulate_scenarios.size_search import SizeTrial as SizeTrial
from copartition.simulate_scenarios.size_search import size as size
from copartition.simulate_scenarios.size_search import size_trial as size_trial
from copartition.simulate_scenarios.size_search import size_trials as size_trials
