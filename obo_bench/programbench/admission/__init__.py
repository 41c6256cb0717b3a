"""What must be true of a run before it spends money: its tasks, images, room and limits, the admitted experiment."""
