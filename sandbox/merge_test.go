package sandbox

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/sandbox/egress"
	"github.com/holdfast-dev/holdfast/policy"
)

// layers compiles settings, each written as "layer: JSON"; "project!" is a trusted project.
func layers(t testing.TB, texts ...string) []*Checker {
	t.Helper()
	var list []*Checker
	for _, text := range texts {
		name, settings, _ := strings.Cut(text, ": ")
		name, trusted := strings.CutSuffix(name, "!")
		list = append(list, checker(t, settings, &Options{
			Home: "/home/u", Dir: "/set", Origin: policy.Origin{Layer: name, File: name + ".json"}, Trusted: trusted,
		}))
	}
	return list
}

// A loosening flag is in force if a trusted layer sets it, no layer sets it to false, and every managed layer
// sets it.
func TestMergeFlags(t *testing.T) {
	const yes, no, silent = `{"allowUnsandboxedCommands": true}`, `{"allowUnsandboxedCommands": false}`, `{"deniedPaths": ["/s"]}`
	for _, tt := range []struct {
		layers []string
		on     bool
		by     string // the layer that sets it, or prevents it
	}{
		{nil, false, ""},
		{[]string{"user: " + silent}, false, ""},
		{[]string{"user: " + no}, false, ""},
		{[]string{"user: " + yes}, true, "user"},
		{[]string{": " + yes}, true, ""},
		{[]string{"flag: " + yes}, true, "flag"},
		{[]string{"project: " + yes}, false, ""},
		{[]string{"local: " + yes}, false, ""},
		{[]string{"project!: " + yes}, true, "project"},
		{[]string{"project: " + silent, "user: " + yes}, true, "user"},
		{[]string{"project: " + yes, "user: " + yes}, true, "user"},
		{[]string{"project: " + no, "user: " + yes}, false, "project"},
		{[]string{"project!: " + yes, "user: " + no}, false, "user"},
		{[]string{"local!: " + yes, "user: " + yes}, true, "local"},
		{[]string{"managed: " + silent, "user: " + yes}, false, "managed"},
		{[]string{"managed: " + no, "user: " + yes}, false, "managed"},
		{[]string{"managed: " + yes, "user: " + silent}, true, "managed"},
		{[]string{"managed: " + yes, "managed: " + silent, "user: " + yes}, false, "managed"},
		{[]string{`managed: {"enabled": false, "allowUnsandboxedCommands": false}`, "user: " + yes}, true, "user"},
		{[]string{`user: {"enabled": false, "allowUnsandboxedCommands": true}`}, false, ""},
	} {
		got := mergeCheckers(layers(t, tt.layers...), false).AllowUnsandboxed
		if got.Set != tt.on || got.Origin.Layer != tt.by {
			t.Errorf("%q: got %+v", tt.layers, got)
		}
		if got.Origin != (policy.Origin{}) && got.Origin.Rule != "allowUnsandboxedCommands" {
			t.Errorf("%q: by %+v", tt.layers, got.Origin)
		}
	}
	m := mergeCheckers(layers(t, `user: {"autoAllowBashIfSandboxed": true, "enableWeakerNestedSandbox": true, "allowNestedSandbox": true}`), false)
	if !m.AutoAllow.Set || !m.Weaker.Set || !m.Nested.Set || m.AllowUnsandboxed.Set {
		t.Errorf("%+v", m)
	}
	if m := mergeCheckers([]*Checker{nil}, false); m.AutoAllow.Set || m.Network.Set {
		t.Errorf("no layer at all: %+v", m)
	}
}

// Only a trusted layer can add permissions to layers without a network, and not if another layer prevents it.
func TestMergeNeverLoosens(t *testing.T) {
	names := []string{"managed", "flag", "local", "local!", "project", "project!", "user"}
	flags := []string{"allowNestedSandbox", "autoAllowBashIfSandboxed", "allowUnsandboxedCommands", "enableWeakerNestedSandbox"}
	held := func(m *merged) []bool {
		return []bool{m.Nested.Set, m.AutoAllow.Set, m.AllowUnsandboxed.Set, m.Weaker.Set}
	}
	rapid.Check(t, func(r *rapid.T) {
		draw := func(name string) string {
			var words []string
			for _, f := range flags {
				if v := rapid.SampledFrom([]string{"", "true", "false"}).Draw(r, f); v != "" {
					words = append(words, `"`+f+`": `+v)
				}
			}
			return name + ": {" + strings.Join(words, ", ") + "}"
		}
		var list []string
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 0, 4).Draw(r, "layers") {
			list = append(list, draw(name))
		}
		before := held(mergeCheckers(layers(t, list...), false))
		extra := draw(rapid.SampledFrom([]string{"local", "project"}).Draw(r, "extra"))
		at := rapid.IntRange(0, len(list)).Draw(r, "at")
		after := held(mergeCheckers(layers(t, slices.Insert(slices.Clone(list), at, extra)...), false))
		for i := range flags {
			if after[i] && !before[i] {
				r.Fatalf("%s opened %s over %q", extra, flags[i], list)
			}
			if after[i] && slices.ContainsFunc(list, func(l string) bool { return strings.Contains(l, `"`+flags[i]+`": false`) }) {
				r.Fatalf("%s holds against a false in %q", flags[i], list)
			}
		}
	})
}

// Each network block restricts on its own.
func TestMergeNetwork(t *testing.T) {
	const open = `{"network": {"allowedDomains": ["a.org"], "allowLocalBinding": true, "allowAllUnixSockets": true, "httpProxyPort": 8080, "ask": true}}`
	const shut = `{"network": {"allowedDomains": ["b.org"], "deniedDomains": ["c.org"], "socksProxyPort": 1080}}`
	a, b := egress.Layer{Allow: []string{"a.org"}, Ask: true}, egress.Layer{Allow: []string{"b.org"}, Deny: []string{"c.org"}}
	for _, tt := range []struct {
		layers      []string
		on, local   bool
		out         bool
		hosts       []egress.Layer
		http, socks int
	}{
		{[]string{"user: {}"}, false, true, false, nil, 0, 0},
		{[]string{"user: " + open}, true, true, true, []egress.Layer{a}, 8080, 0},
		{[]string{"project: " + open}, false, true, false, []egress.Layer{a}, 0, 0},
		{[]string{"project!: " + open}, true, true, true, []egress.Layer{a}, 8080, 0},
		{[]string{"project: " + open, "user: " + shut}, true, true, true, []egress.Layer{a, b}, 0, 1080},
		{[]string{"project: " + shut, "user: " + open}, true, true, true, []egress.Layer{b, a}, 8080, 0},
		{[]string{`managed: {"deniedPaths": ["/s"]}`, "user: " + open}, true, true, true, []egress.Layer{a}, 8080, 0},
		{[]string{`managed: {"network": {}}`, "user: " + shut}, true, true, false, []egress.Layer{{Allow: []string{}}, b}, 0, 1080},
		{[]string{`user: {"network": {"ask": true}}`}, true, true, true, []egress.Layer{{Allow: []string{}, Ask: true}}, 0, 0},
		{
			[]string{`managed: {"network": {"allowManagedDomainsOnly": true, "allowedDomains": ["*"]}}`, "user: " + open},
			true, true, true,
			[]egress.Layer{{Allow: []string{"*"}}, {Allow: []string{"a.org"}}},
			8080, 0,
		},
		{[]string{`project: {"network": {"allowLocalBinding": false}}`, "user: " + open}, true, false, false, []egress.Layer{{Allow: []string{}}, a}, 8080, 0},
		{[]string{`user: {"enabled": false, "network": {"allowedDomains": ["*"]}}`}, false, true, false, nil, 0, 0},
	} {
		m := mergeCheckers(layers(t, tt.layers...), false)
		if m.Network.Set != tt.on || m.LocalBinding.Set != tt.local || m.hasNetwork(false) != tt.out || m.HTTPProxyPort.Number != tt.http || m.SOCKSProxyPort.Number != tt.socks {
			t.Errorf("%q: got %+v", tt.layers, m)
		}
		if !reflect.DeepEqual(m.Hosts, tt.hosts) || len(m.HostOrigins) != len(m.Hosts) {
			t.Errorf("%q: hosts %+v", tt.layers, m.Hosts)
		}
		if m.AllUnixSockets.Set && !m.UnixSockets.Set {
			t.Errorf("%q: all sockets, but not one's own", tt.layers)
		}
	}
}

func TestMergeLimits(t *testing.T) {
	m := mergeCheckers(layers(t,
		`managed: {"limits": {"memory": "1GiB", "pids": 100}}`,
		`project: {"limits": {"memory": "512MiB", "wallTime": "1m"}}`,
		`user: {"limits": {"memory": "2GiB", "pids": 100, "cpu": 2}}`,
	), false)
	if want := (Limits{CPU: 2, Memory: 512 << 20, Pids: 100, WallTime: time.Minute}); m.Limits != want {
		t.Errorf("%+v", m.Limits)
	}
	for name, layer := range map[string]string{"memory": "project", "pids": "managed", "wallTime": "project", "cpu": "user", "fileSize": ""} {
		if o := m.LimitOrigins[name]; o.Layer != layer || layer != "" && o.Rule != "limits."+name {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// Additional paths are limited to every layer's allowedWritePaths, and to what a managed layer adds.
func TestMergeWritePaths(t *testing.T) {
	const add = `{"additionalWritePaths": ["/var/cache/x", "~/.cache"]}`
	for _, tt := range []struct {
		layers []string
		want   []string
	}{
		{[]string{"user: " + add}, []string{"/var/cache/x", "/home/u/.cache"}},
		{[]string{`user: {"filesystem": {"allowWrite": ["//var/cache/x/**"]}}`}, []string{"/var/cache/x"}},
		{[]string{"project: " + add}, nil},
		{[]string{"project!: " + add}, []string{"/var/cache/x", "/home/u/.cache"}},
		{[]string{"project: {}", "user: " + add}, []string{"/var/cache/x", "/home/u/.cache"}},
		{[]string{"managed: {}", "user: " + add}, nil},
		{[]string{`managed: {"allowedWritePaths": ["/var"]}`, "user: " + add}, []string{"/var/cache/x"}},
		{[]string{`managed: {"additionalWritePaths": ["/var/cache/x/deep"]}`, "user: " + add}, []string{"/var/cache/x/deep"}},
		{[]string{`project: {"allowedWritePaths": ["/home/u/.cache/go", "/home/u/.cache/npm"]}`, "user: " + add}, []string{"/home/u/.cache/go", "/home/u/.cache/npm"}},
		{[]string{`local: {"allowedWritePaths": ["/elsewhere"]}`, "user: " + add}, nil},
		{[]string{"user: " + add, "user: " + add}, []string{"/var/cache/x", "/home/u/.cache"}},
	} {
		var got []string
		for _, w := range mergeCheckers(layers(t, tt.layers...), false).AdditionalWritePaths {
			got = append(got, w.Path)
			if w.Entry == "" || w.Origin.Rule != fieldAdditional {
				t.Errorf("%q: %+v", tt.layers, w)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %q, want %q", tt.layers, got, tt.want)
		}
	}
	if c := checker(t, add, &Options{Home: "/home/u"}); !c.IsPathAllowed("/anywhere", "", policy.OpWrite) {
		t.Error("paths that are added restrict")
	}
}

// Loosens lists the fields that loosen, and not those that restrict.
func TestLoosens(t *testing.T) {
	for in, want := range map[string]string{
		`{}`: "",
		`{"deniedPaths": ["/"], "allowedWritePaths": ["/"], "limits": {"pids": 10}, "network": {}, "protectedPaths": ["/x"]}`: "",
		`{"allowNestedSandbox": false, "excludedCommands": []}`:                                                               "",
		`{"allowNestedSandbox": true, "excludedCommands": ["x"], "additionalWritePaths": ["/x"]}`:                             "allowNestedSandbox excludedCommands additionalWritePaths",
		`{"network": {"allowedDomains": ["*"], "ask": true, "httpProxyPort": 1}}`:                                             "network.allowedDomains network.httpProxyPort network.ask",
	} {
		s, err := decode([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(s.Loosens(), " "); got != want {
			t.Errorf("%s: got %s", in, got)
		}
	}
}
