"""What must be true before a run spends money: settings, models, server, budget, the admitted experiment."""
