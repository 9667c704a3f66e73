package notify

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"

	"github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/alertmanager/inhibit"
	"github.com/prometheus/alertmanager/marker"
	"github.com/prometheus/alertmanager/nflog/nflogpb"
	"github.com/prometheus/alertmanager/notify"
	"github.com/prometheus/common/model"
)

// inhibited is a stage that removes the alerts that others inhibit, unless the receiver knows of them: Alertmanager's own stage would also remove their end,
// and the receiver would never learn of it.
type inhibited struct {
	*inhibit.Inhibitor
	n            *Notifier
	integrations map[string][]notify.Integration // by receiver
}

// Exec implements notify.Stage.
func (s inhibited) Exec(ctx context.Context, _ *slog.Logger, alerts ...*alert.Alert) (context.Context, []*alert.Alert, error) {
	var passed, known []*alert.Alert
	receiver, _ := notify.ReceiverName(ctx)
	for _, a := range alerts {
		switch {
		case !s.Mutes(ctx, a.Labels):
			passed = append(passed, a)
		case s.n.knows(ctx, s.integrations[receiver], a.Labels):
			known = append(known, s.explained(ctx, a))
		}
	}
	if len(passed) == 0 && !slices.ContainsFunc(known, (*alert.Alert).Resolved) {
		return ctx, nil, nil // nothing is repeated about them
	}
	return ctx, append(passed, known...), nil
}

// byAnnotation is the annotation of an alert that ends while another inhibits it. It has the summary of the other.
const byAnnotation = "inhibited_by"

// explained returns an alert with the annotation if it has ended.
func (s inhibited) explained(ctx context.Context, a *alert.Alert) *alert.Alert {
	marks, marked := marker.FromContext(ctx)
	if !marked || !a.Resolved() {
		return a
	}
	for _, by := range marks.Status(a.Fingerprint()).InhibitedBy {
		if of, err := model.FingerprintFromString(by); err == nil {
			if cause, err := s.n.alerts.Get(of); err == nil {
				one := *a
				one.Annotations = a.Annotations.Merge(model.LabelSet{byAnnotation: cause.Annotations["summary"]})
				return &one
			}
		}
	}
	return a
}

// knows reports whether the last notification about an alert to one of these integrations said that it fires. The context has the key of its group.
func (n *Notifier) knows(ctx context.Context, integrations []notify.Integration, labels model.LabelSet) bool {
	ctx = notify.WithRepeatInterval(ctx, math.MaxInt64)
	receiver, _ := notify.ReceiverName(ctx)
	return slices.ContainsFunc(integrations, func(i notify.Integration) bool {
		to := &nflogpb.Receiver{GroupName: receiver, Integration: i.Name(), Idx: uint32(i.Index())} //nolint:gosec // a small number
		// If it fires and is no news, the receiver was notified of it.
		_, news, err := notify.NewDedupStage(&i, n.sent, to).Exec(ctx, n.log, &alert.Alert{Alert: model.Alert{Labels: labels}})
		return err == nil && len(news) == 0
	})
}

// Owes reports whether a receiver waits for the resolved notification about an alert: the last notification to it said that the alert fires.
func (n *Notifier) Owes(labels model.LabelSet) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.routes.Match(labels) {
		group := model.LabelSet{}
		for name, value := range labels {
			if _, by := r.RouteOpts.GroupBy[name]; by || r.RouteOpts.GroupByAll {
				group[name] = value
			}
		}
		ctx := notify.WithGroupKey(context.Background(), fmt.Sprintf("%s:%s", r.Key(), group))
		if n.knows(notify.WithReceiverName(ctx, r.RouteOpts.Receiver), n.integrations[r.RouteOpts.Receiver], labels) {
			return true
		}
	}
	return false
}
