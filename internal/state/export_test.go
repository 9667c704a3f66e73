package state

// SetMostFiles lowers the limit until the test has ended.
func SetMostFiles(t interface{ Cleanup(func()) }, n int) {
	before := maxFiles
	maxFiles = n
	t.Cleanup(func() { maxFiles = before })
}
