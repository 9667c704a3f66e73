package state

// SetMostFiles lowers the limit until the test has ended.
func SetMostFiles(t interface{ Cleanup(func()) }, n int) {
	before := mostFiles
	mostFiles = n
	t.Cleanup(func() { mostFiles = before })
}
