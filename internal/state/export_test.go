package state

func Counted(d *Dir, count func() int) int64 { return d.counted(count) }
