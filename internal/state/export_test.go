package state

// SetMaxFiles lowers the limit until the test has ended.
func SetMaxFiles(t interface{ Cleanup(func()) }, n int) {
	before := maxFiles
	maxFiles = n
	t.Cleanup(func() { maxFiles = before })
}
