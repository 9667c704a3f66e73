package main

import (
	"os"
	"strings"
	"testing"
)

func TestValidManifestPasses(t *testing.T) {
	n, err := check(strings.NewReader(good(t)))
	if n != 1 || err != nil {
		t.Errorf("%d manifests: %v", n, err)
	}
}

func TestInvalidManifestsAreReported(t *testing.T) {
	for _, mistake := range []struct{ from, to, want string }{
		{"replicas: 1", "replica: 1", `unknown field "spec.replica"`},
		{"replicas: 1", "replicas: many", "replicas"},
		{"replicas: 1", "replicas: 1\n  replicas: 2", `"replicas" already set`},
		{"kind: Deployment", "kind: Deploy", `no kind "Deploy" is registered`},
		{"name: exporter\n", "name: Exporter\n", "lowercase RFC 1123 subdomain"},
		{"matchLabels: {app: exporter}", "matchLabels: {app: other}", "selects"},
		{"runAsNonRoot: true", "runAsNonRoot: false", "runAsNonRoot != true"},
		{"drop: [ALL]", "drop: []", "unrestricted capabilities"},
		{"readOnlyRootFilesystem: true", "privileged: true", "privileged"},
		{"allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true", "allowPrivilegeEscalation != false"},
		{"RuntimeDefault", "Unconfined", "seccompProfile"},
		{"automountServiceAccountToken: false", "automountServiceAccountToken: true", "token is mounted"},
		{"readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "may write"},
		{"memory: 64Mi", "cpu: 1", "no memory limit"},
		{"livenessProbe:", "startupProbe:", "not probed"},
		{"name: tmp, mountPath", "name: state, mountPath", "mounts a volume that the pod does not declare: state"},
	} {
		manifest := strings.Replace(good(t), mistake.from, mistake.to, 1)
		if manifest == good(t) {
			t.Fatalf("%q not in the manifest", mistake.from)
		}
		if _, err := check(strings.NewReader(manifest)); err == nil || !strings.Contains(err.Error(), mistake.want) {
			t.Errorf("%s: %v, want %q", mistake.to, err, mistake.want)
		}
	}
}

func TestEmptyStreamIsAnError(t *testing.T) {
	if _, err := check(strings.NewReader("---\n# a comment\n---\n")); err == nil {
		t.Error("no error for an empty stream")
	}
}

func good(t *testing.T) string {
	text, err := os.ReadFile("testdata/good.yml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
