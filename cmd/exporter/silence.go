package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/prometheus/alertmanager/pkg/labels"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/notify"
)

const silenceArgs = "[--from URL] [--alertmanager URL] [--check] [--comment TEXT] WHAT... DURATION"

const silenceHelp = `
Creates silences for the alerts about a node, a validator, an L1 or an alert, or
for the alerts that match labels, as amtool does.
The silences are created in an Alertmanager. If there is no Alertmanager, they
are created in the exporter. The exporter then needs AVAX_NOTIFY_FILE. From
another machine, the command needs a password of AVAX_WEB_CONFIG_FILE: write the
user and the password in --from: http://user:password@host:9865

Arguments:
  WHAT                name of a node, a validator, an L1 or an alert; a node ID
                      or validation ID; or one or more matchers, such as
                      alertname=AvaxHeadLag. Quote an argument with spaces.
  DURATION            duration of the silence, such as 30m or 2h

Options:
  --from URL          address of the exporter (default: the exporter on this
                      machine, at AVAX_LISTEN)
  --alertmanager URL  address of the Alertmanager (default: the first of
                      AVAX_ALERTMANAGERS). Its credentials are in
                      AVAX_HTTP_CONFIG_FILE.
  --check             create the silences only if it is safe to stop the node
                      now
  --comment TEXT      reason for the silence (default: maintenance)

Examples:
  avax-exporter silence alpha 30m
  avax-exporter silence --check --comment "upgrade to 1.15.1" alpha 30m
  avax-exporter silence alertname=AvaxHeadLag node=alpha 2h
  avax-exporter silence 'owner=Acme Corp' severity!=page 30m
`

// maintenance are the arguments of the command silence.
type maintenance struct {
	from, alertmanager, comment string
	named                       []string
	check                       bool
	lasts                       time.Duration
}

func parseSilence(args []string) (m maintenance, err error) {
	words, err := parse(args, func(flags *flag.FlagSet) {
		flags.StringVar(&m.from, "from", "", "")
		flags.StringVar(&m.alertmanager, "alertmanager", "", "")
		flags.StringVar(&m.comment, "comment", "maintenance", "")
		flags.BoolVar(&m.check, "check", false, "")
	})
	if err != nil {
		return m, err
	}
	last := len(words) - 1
	if last < 1 {
		return m, errors.New("name a node and a duration, such as alpha 30m; or a validator, an L1, an alert or matchers")
	}
	m.named = words[:last]
	if m.lasts, err = time.ParseDuration(words[last]); err != nil || m.lasts <= 0 {
		return m, fmt.Errorf("%q: write a duration above zero with its unit, such as 30m", words[last])
	}
	if m.check && len(m.named) > 1 {
		return m, errors.New("--check: name only the node that you stop")
	}
	return m, nil
}

// runSilence silences the alerts about what the arguments name.
func runSilence(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	m, err := parseSilence(args)
	if err != nil {
		return usageError{err}
	}
	exporter, cfg, err := exporterOf(m.from)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if m.check {
		if _, err := exporter.verdict(ctx, "/safe-to-stop?node="+url.QueryEscape(m.named[0])); err != nil {
			return fmt.Errorf("safe-to-stop %s: nothing was silenced: %w", m.named[0], err)
		}
	}
	sets, err := matchersOf(ctx, exporter, m.named, stderr)
	if err != nil {
		return err
	}
	api, client := m.alertmanager, client
	if api == "" && cfg.Alerting.Notifies() {
		api = cfg.Alerting.Alertmanagers[0]
	}
	if api != "" {
		if cfg, err = configured(config.LoadOnly("HTTP_CONFIG_FILE")); err != nil {
			return err
		}
		if client, err = alerting.AlertmanagerClient(cfg.Alerting, nil); err != nil {
			return err
		}
		exporter.address, exporter.token = strings.TrimSuffix(api, "/"), "" // the Alertmanager's API is the same
	}
	until := time.Now().Add(m.lasts)
	var made []string
	for _, set := range sets {
		silence, err := postSilence(ctx, client, exporter, set, m.comment, until)
		if err != nil {
			return errors.Join(err, endSilences(ctx, client, exporter, made))
		}
		made = append(made, silence)
	}
	for i, set := range sets {
		fmt.Fprintf(stdout, "silenced %s until %s (silence %s)\n", notify.MatchersText(set), until.UTC().Format(time.RFC3339), made[i])
	}
	return nil
}

// endSilences ends silences that were created before an error. The error names those that remain.
func endSilences(ctx context.Context, client *http.Client, at exporter, ids []string) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	for _, id := range ids {
		resp, failed := at.send(ctx, client, http.MethodDelete, "/api/v2/silence/"+url.PathEscape(id), nil)
		if failed == nil {
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				failed = errors.New(resp.Status)
			}
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("silence %s was created and cannot be ended: %w: end it on the page /alerts or with amtool", id, failed))
		}
	}
	return err
}

// matchersOf returns the sets of matchers of the alerts about what is named, and prints what is left out. The exporter knows the names. Arguments with an
// operator are matchers.
func matchersOf(ctx context.Context, e exporter, named []string, stderr io.Writer) (sets []labels.Matchers, err error) {
	of := strings.Join(named, " ")
	if strings.ContainsAny(of, "=~") {
		var set labels.Matchers
		for _, arg := range named {
			m, err := labels.ParseMatcher(arg)
			if err != nil {
				return nil, inputError("silence: nothing was silenced: %w: write each matcher as an argument, such as alertname=AvaxHeadLag node=alpha", err)
			}
			set = append(set, m)
		}
		of = notify.MatchersText(set)
	}
	text, err := e.answerOf(ctx, "/silence-matches?of="+url.QueryEscape(of))
	var input config.InputError
	switch {
	case errors.As(err, &input):
		return nil, inputError("silence: nothing was silenced: %w", err)
	case err != nil:
		return nil, err
	}
	for line := range strings.Lines(text) {
		if left, is := strings.CutPrefix(line, "# "); is {
			fmt.Fprint(stderr, left)
			continue
		}
		set, err := labels.ParseMatchers(line)
		if err != nil {
			return nil, fmt.Errorf("/silence-matches: %w: is it an avax-exporter of this version?", err)
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// postSilence creates a silence and returns its ID.
func postSilence(ctx context.Context, client *http.Client, at exporter, set labels.Matchers, comment string, until time.Time) (string, error) {
	type matcher struct {
		Name    string `json:"name"`
		Value   string `json:"value"`
		IsRegex bool   `json:"isRegex"`
		IsEqual bool   `json:"isEqual"`
	}
	var matchers []matcher
	for _, m := range set {
		matchers = append(matchers, matcher{
			Name: m.Name, Value: m.Value, IsRegex: m.Type == labels.MatchRegexp || m.Type == labels.MatchNotRegexp,
			IsEqual: m.Type == labels.MatchEqual || m.Type == labels.MatchRegexp,
		})
	}
	body, err := json.Marshal(map[string]any{
		"matchers": matchers,
		"startsAt": time.Now().UTC(), "endsAt": until.UTC(), "createdBy": who(), "comment": comment,
	})
	if err != nil {
		return "", err
	}
	resp, err := at.send(ctx, client, http.MethodPost, "/api/v2/silences", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return "", err
	}
	var made struct{ SilenceID string }
	if resp.StatusCode != http.StatusOK || json.Unmarshal(text, &made) != nil {
		return "", fmt.Errorf("silence not accepted: %s: %s", resp.Status, strings.TrimSpace(string(text)))
	}
	return made.SilenceID, nil
}

// who returns the name of the user who runs the command.
func who() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return cmp.Or(os.Getenv("USER"), "avax-exporter")
}
