package notify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"

	amconfig "github.com/prometheus/alertmanager/config"
	httpconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/promslog"

	"github.com/avax-exporter/avax-exporter/internal/files"
	"github.com/avax-exporter/avax-exporter/internal/secret"
)

// Probe checks every integration that a route uses, without sending a notification. It reads the files of the integration, renders its texts for
// each kind of alert, connects to the address that a notification would use, and asks the service what is harmless to ask. No error contains a secret.
func Probe(ctx context.Context, c Config) ([]ProbeResult, error) {
	conf, err := load(c)
	if err != nil {
		return nil, err
	}
	b, err := c.build(conf, promslog.NewNopLogger())
	if err != nil {
		return nil, err
	}
	var trials []*ProbeResult
	var probing sync.WaitGroup
	for _, r := range b.receivers {
		fields := reflect.ValueOf(r.Receiver)
		for i := range fields.NumField() {
			kind, isConfigs := strings.CutSuffix(yamlName(fields.Type().Field(i)), "_configs")
			if !isConfigs {
				continue
			}
			for k := range fields.Field(i).Len() {
				t := &ProbeResult{Receiver: r.Name, Integration: fmt.Sprintf("%s[%d]", kind, k)}
				trials = append(trials, t)
				if t.Err = r.err; t.Err != nil {
					continue
				}
				probing.Go(func() {
					one := rehearsed{Config: c, receiver: r.Receiver, kind: kind, index: k, config: fields.Field(i).Index(k), templates: b.templates}
					t.Err = one.probe(ctx, b.routes)
				})
			}
		}
	}
	probing.Wait()
	results := make([]ProbeResult, len(trials))
	for i, t := range trials {
		results[i] = ProbeResult{t.Receiver, t.Integration, hide(t.Err, receiverNamed(b.receivers, t.Receiver))}
	}
	return results, nil
}

func receiverNamed(all []builtReceiver, name string) amconfig.Receiver {
	return all[slices.IndexFunc(all, func(r builtReceiver) bool { return r.Name == name })].Receiver
}

func yamlName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name
}

// hide removes from an error the secrets of the receiver's configuration.
func hide(err error, of amconfig.Receiver) error {
	var needs dependencies
	needs.of(reflect.ValueOf(of))
	return needs.secrets.Wrap(err)
}

// dependencies are the files and secrets of a receiver's configuration.
type dependencies struct {
	secrets secret.Values
	inline  bool  // whether the configuration itself contains a secret
	err     error // error of the first unusable file or placeholder
	unfit   error // error of the first file that is no regular file, or too large
}

// read reads a file that the configuration names.
func (n *dependencies) read(path string) ([]byte, error) {
	text, err := files.Read(path)
	if n.unfit == nil && err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		n.unfit = err
	}
	return text, err
}

// of adds the secrets of a value of the configuration. It also reads the files that the value names.
func (n *dependencies) of(v reflect.Value) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	n.inline = n.inline || isSecret(v.Type()) && !v.IsZero()
	switch v.Kind() {
	case reflect.String:
		if isSecret(v.Type()) {
			n.secrets.Add(v.String())
			if at, err := url.Parse(v.String()); err == nil {
				n.address(at)
			}
		}
		return
	case reflect.Slice:
		for i := range v.Len() {
			n.of(v.Index(i))
		}
		return
	case reflect.Map:
		for _, key := range v.MapKeys() {
			n.of(v.MapIndex(key))
		}
		return
	case reflect.Struct:
	default:
		return
	}
	switch at := v.Interface().(type) {
	case url.URL:
		n.address(&at)
		return
	case httpconfig.BasicAuth:
		password := string(at.Password)
		n.inline = n.inline || password != ""
		if text, err := n.read(at.PasswordFile); err == nil {
			password = strings.TrimSpace(string(text))
		}
		n.secrets.AddUser(at.Username, password)
	}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		if name, isFile := strings.CutSuffix(yamlName(field), "_file"); isFile && v.Field(i).Kind() == reflect.String {
			n.file(name, v.Field(i).String())
		} else {
			n.of(v.Field(i))
		}
	}
}

// isSecret reports whether a type holds a secret. Several packages have such a type.
func isSecret(t reflect.Type) bool { return strings.HasPrefix(t.Name(), "Secret") }

// file reads a file with a secret or certificates.
func (n *dependencies) file(name, path string) {
	if path == "" {
		return
	}
	text, err := n.read(path)
	content := strings.TrimSpace(string(text))
	at, urlErr := url.Parse(content)
	switch {
	case err != nil:
		err = fmt.Errorf("%s_file: %w", name, err)
	case unfilled.MatchString(content):
		err = fmt.Errorf("%s_file: %s contains a placeholder such as ${NAME}: write the secret into the file", name, path)
	case content == "":
		err = fmt.Errorf("%s_file: %s is empty: write the secret into the file", name, path)
	case !strings.HasSuffix(name, "url"):
		n.secrets.Add(content)
	case urlErr != nil || at.Host == "":
		n.secrets.Add(content)
		err = fmt.Errorf("%s_file: %s does not contain a URL: write one like https://hooks.example/…", name, path)
	default:
		n.address(at)
	}
	if n.err == nil {
		n.err = err
	}
}

// address adds a URL. Its user, path and query may be secret.
func (n *dependencies) address(at *url.URL) {
	if at.Host == "" {
		return
	}
	if password, has := at.User.Password(); has {
		n.secrets.AddUser(at.User.Username(), password)
	}
	n.secrets.Add(at.EscapedPath(), at.RawQuery)
}
