//go:build noalerting

package alerting

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/common/model"
)

// Built reports that this program cannot evaluate rules: it was built with the tag noalerting.
const Built = false

// ErrNotBuilt is the error of Start.
var ErrNotBuilt = errors.New("this program was built without alerting (tag noalerting): use a program that was built without this tag, or let a Prometheus evaluate the rules")

// Alerting does nothing.
type Alerting struct{}

// Start returns an error.
func Start(context.Context, Options) (*Alerting, error) { return nil, ErrNotBuilt }

// CheckRules returns an error.
func CheckRules(Config) (RulesSummary, error) { return RulesSummary{}, ErrNotBuilt }

// CheckAlertmanagers returns an error.
func CheckAlertmanagers(Config) (urls, file error) { return ErrNotBuilt, nil }

// Wait returns at once.
func (*Alerting) Wait() {}

// Reload does nothing.
func (*Alerting) Reload() error { return nil }

// Groups returns an error.
func (*Alerting) Groups(context.Context) ([]Group, error) { return nil, ErrNotBuilt }

// Query returns an error.
func (*Alerting) Query(context.Context, string, time.Time) (model.Vector, error) {
	return nil, ErrNotBuilt
}

// QueryRange returns an error.
func (*Alerting) QueryRange(context.Context, string, time.Time, time.Time, time.Duration) (model.Matrix, error) {
	return nil, ErrNotBuilt
}

// Requests returns a.
func (a *Alerting) Requests() Source { return a }

// Receivers returns none.
func (*Alerting) Receivers() []Receiver { return nil }
