package must_test

import (
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// test keeps what ends it.
type test struct {
	testing.TB
	said string
}

func (*test) Helper()             {}
func (t *test) Fatal(args ...any) { t.said = fmt.Sprint(args...) }

func TestAFailedCallEndsTheTest(t *testing.T) {
	for want, call := range map[string]func(*test){
		"": func(f *test) {
			must.Do(f, nil, nil)
			if n := must.Get(strconv.Atoi("7"))(f); n != 7 {
				t.Errorf("value %d", n)
			}
		},
		"late": func(f *test) { must.Do(f, nil, errors.New("late")) },
		`strconv.Atoi: parsing "x": invalid syntax`: func(f *test) { must.Get(strconv.Atoi("x"))(f) },
	} {
		var f test
		if call(&f); f.said != want {
			t.Errorf("%q, want %q", f.said, want)
		}
	}
}
