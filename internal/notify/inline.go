package notify

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	amconfig "github.com/prometheus/alertmanager/config"
)

// inlineSecrets returns an error for each secret in the configuration that could be in a separate file. No error contains a
// secret.
func inlineSecrets(conf *amconfig.Config) error {
	found := inline("global", reflect.ValueOf(conf.Global))
	if len(found) > 0 {
		return errors.Join(found...) // receivers would inherit these secrets
	}
	for _, r := range conf.Receivers {
		found = append(found, inline("receiver "+r.Name, reflect.ValueOf(r))...)
	}
	return errors.Join(found...)
}

func inline(place string, v reflect.Value) (found []error) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return inline(place, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			found = append(found, inline(fmt.Sprintf("%s[%d]", place, i), v.Index(i))...)
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			found = append(found, inline(place+": "+key.String(), v.MapIndex(key))...)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if !field.IsExported() {
				continue
			}
			at, name := place, yamlName(field)
			if name != "" {
				at += ": " + name
			}
			if variant := fileVariant(v.Type(), name); variant != "" && secret(field.Type) && !v.Field(i).IsZero() {
				found = append(found, fmt.Errorf("%s: secret in the configuration: write it into a separate file, and the path of that file into %s", at, variant))
			} else {
				found = append(found, inline(at, v.Field(i))...)
			}
		}
	}
	return found
}

// fileVariant returns the field of a struct for the path of a file with the secret of another field, or "".
func fileVariant(of reflect.Type, name string) string {
	variant := name + "_file"
	if name == "secrets" { // of http_headers
		variant = "files"
	}
	for i := range of.NumField() {
		if name != "" && yamlName(of.Field(i)) == variant {
			return variant
		}
	}
	return ""
}

// secret reports whether a type holds a secret. Several packages have such a type.
func secret(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return strings.HasPrefix(t.Name(), "Secret")
}
