// Command manifests checks Kubernetes manifests without a cluster. It decodes each document strictly into the API's types (of
// Kubernetes and of the Prometheus operator). This finds unknown keys, duplicate keys and wrong types. It then checks:
//
//   - Names and labels are valid.
//   - A workload selects its own pods, and mounts only volumes that it declares.
//   - Pods follow the restricted profile of the Pod Security Standards. Kubernetes' own code checks this.
//   - Pods have probes, a memory limit, no service account token, and a read-only file system.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"
	security "k8s.io/pod-security-admission/api"
	profile "k8s.io/pod-security-admission/policy"
)

func main() {
	if len(os.Args) == 1 {
		fmt.Fprintln(os.Stderr, "usage: manifests FILE… (- is standard input)")
		os.Exit(2)
	}
	failed := false
	for _, name := range os.Args[1:] {
		file := os.Stdin
		if name != "-" {
			var err error
			if file, err = os.Open(name); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(2)
			}
		}
		n, err := check(file)
		if err != nil {
			failed = true
			fmt.Fprintf(os.Stderr, "%s:\n%v\n", name, err)
		}
		fmt.Printf("%s: %d manifests\n", name, n)
	}
	if failed {
		os.Exit(1)
	}
}

// check returns the number of manifests in a stream, and all mistakes. An empty stream is a mistake.
func check(stream io.Reader) (n int, err error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		apps.AddToScheme, core.AddToScheme, networking.AddToScheme, policy.AddToScheme, monitoring.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return 0, err
		}
	}
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: true, Strict: true})
	pods, err := profile.NewEvaluator(profile.DefaultChecks(), nil)
	if err != nil {
		return 0, err
	}
	var problems []error
	seen := map[string]bool{}
	for documents := yaml.NewYAMLReader(bufio.NewReader(stream)); ; {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return n, err
		}
		if empty(text) {
			continue
		}
		n++
		object, kind, err := decoder.Decode(text, nil, nil)
		if err != nil {
			problems = append(problems, fmt.Errorf("  document %d: %w", n, err))
			continue
		}
		about, err := meta.Accessor(object)
		if err != nil {
			return n, err
		}
		name := fmt.Sprintf("%s %s", kind.Kind, about.GetName())
		if seen[name] {
			problems = append(problems, fmt.Errorf("  %s: duplicate", name))
		}
		seen[name] = true
		for _, problem := range append(named(about), workload(object, pods)...) {
			problems = append(problems, fmt.Errorf("  %s: %s", name, problem))
		}
	}
	if n == 0 {
		problems = append(problems, errors.New("  no manifest"))
	}
	return n, errors.Join(problems...)
}

// named reports an invalid name or label.
func named(about v1.Object) []string {
	problems := validation.IsDNS1123Subdomain(about.GetName())
	for _, err := range metavalidation.ValidateLabels(about.GetLabels(), field.NewPath("metadata", "labels")) {
		problems = append(problems, err.Error())
	}
	return problems
}

// workload reports mistakes of an object that runs pods.
func workload(object runtime.Object, pods profile.Evaluator) (problems []string) {
	var template core.PodTemplateSpec
	var selector *v1.LabelSelector
	switch w := object.(type) {
	case *apps.Deployment:
		template, selector = w.Spec.Template, w.Spec.Selector
	case *apps.StatefulSet:
		template, selector = w.Spec.Template, w.Spec.Selector
		for _, claim := range w.Spec.VolumeClaimTemplates {
			template.Spec.Volumes = append(template.Spec.Volumes, core.Volume{Name: claim.Name, VolumeSource: core.VolumeSource{
				PersistentVolumeClaim: &core.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
			}})
		}
	default:
		return nil
	}
	selects, err := v1.LabelSelectorAsSelector(selector)
	if err != nil || selects.Empty() || !selects.Matches(labels.Set(template.Labels)) {
		problems = append(problems, fmt.Sprintf("selects %q, its pods are labelled %v", selects, template.Labels))
	}
	for _, c := range slices.Concat(template.Spec.InitContainers, template.Spec.Containers) {
		for _, mount := range c.VolumeMounts {
			if !slices.ContainsFunc(template.Spec.Volumes, func(v core.Volume) bool { return v.Name == mount.Name }) {
				problems = append(problems, fmt.Sprintf("container %s mounts a volume that the pod does not declare: %s", c.Name, mount.Name))
			}
		}
	}
	for _, v := range template.Spec.Volumes {
		for _, problem := range validation.IsDNS1123Label(v.Name) {
			problems = append(problems, fmt.Sprintf("volume %s: %s", v.Name, problem))
		}
	}
	// Checks beyond the profile.
	if token := template.Spec.AutomountServiceAccountToken; token == nil || *token {
		problems = append(problems, "a service account's token is mounted")
	}
	for _, c := range template.Spec.Containers {
		if c.SecurityContext == nil || c.SecurityContext.ReadOnlyRootFilesystem == nil || !*c.SecurityContext.ReadOnlyRootFilesystem {
			problems = append(problems, fmt.Sprintf("container %s may write to its root file system", c.Name))
		}
		variables := map[string]bool{}
		for _, v := range c.Env {
			if variables[v.Name] {
				problems = append(problems, fmt.Sprintf("container %s has the variable %s twice", c.Name, v.Name))
			}
			variables[v.Name] = true
		}
		if c.Resources.Limits.Memory().IsZero() {
			problems = append(problems, fmt.Sprintf("container %s has no memory limit", c.Name))
		}
		if c.LivenessProbe == nil || c.ReadinessProbe == nil {
			problems = append(problems, fmt.Sprintf("container %s is not probed", c.Name))
		}
	}
	restricted := security.LevelVersion{Level: security.LevelRestricted, Version: security.LatestVersion()}
	for _, result := range pods.EvaluatePod(restricted, &template.ObjectMeta, &template.Spec) {
		if !result.Allowed {
			problems = append(problems, fmt.Sprintf("not restricted: %s: %s", result.ForbiddenReason, result.ForbiddenDetail))
		}
	}
	return problems
}

// empty reports whether a document has only comments.
func empty(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("---")) {
			return false
		}
	}
	return true
}
