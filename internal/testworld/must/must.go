// Package must is for calls of a test that must succeed: if one fails, the test cannot go on. It imports nothing of the
// module, so that tests of every package can use it.
package must

import (
	"errors"
	"testing"
)

// Get returns the value of a call. If the call fails, the test fails at once, in the line of the caller:
//
//	page := must.Get(os.ReadFile(name))(t)
func Get[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Do(t, err)
		return value
	}
}

// Do fails the test at once if one of the calls, which all are done, failed.
func Do(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
