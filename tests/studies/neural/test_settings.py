from action_balance.studies.neural.settings import NeuralSettings


def test_all_methods_have_the_same_hyper_parameters() -> None:
    settings = NeuralSettings()
    assert settings.seeds >= 20
    for world in settings.studies:
        agents = [config.to_dict()["agent"] for config in settings.runs(world).values()]
        methods = [agent.pop("method") for agent in agents]
        assert len(set(methods)) == len(methods)
        assert all(agent == agents[0] for agent in agents)
