package notify

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"reflect"
	"strings"

	amconfig "github.com/prometheus/alertmanager/config"
	httpconfig "github.com/prometheus/common/config"

	"github.com/avax-exporter/avax-exporter/internal/files"
	"github.com/avax-exporter/avax-exporter/internal/secret"
)

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
