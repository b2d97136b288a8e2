package workspace

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// everySetting returns settings in which every field is set.
func everySetting() Settings {
	return Settings{
		ID: "0123456789abcdef", Slug: "blog", Created: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC),
		Project: "/home/me/blog", Image: "registry.example:5000/me/agents:1@sha256:abc", Model: "claude-opus-4-6",
		Agent:       AgentSpec{Kind: KindACP, Command: []string{"gemini", "--acp", ""}},
		Limits:      Limits{Memory: 1 << 30, CPUs: 1.5, PIDs: 300, Disk: Unlimited},
		Network:     Network{Mode: NetworkProxy, Domains: []string{"api.example.com", "*.example.org:443"}},
		Mounts:      []Mount{{Host: "/srv/data", Target: "/mnt/data", ReadOnly: true}, {Host: "/srv/more", Target: "/mnt/more"}},
		Credentials: []string{"ANTHROPIC_API_KEY", "GITHUB_TOKEN"},
		Trust:       Sandboxed,
	}
}

func TestSettingsKeep(t *testing.T) {
	for _, s := range []Settings{everySetting(), (&Settings{Slug: "a", ID: "0123456789abcdef", Created: everySetting().Created}).WithDefaults()} {
		b, err := s.encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeSettings("workspace.json", b)
		if err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		if !reflect.DeepEqual(*got, s) {
			t.Errorf("%+v\nis read as %+v", s, *got)
		}
	}
}

const identityJSON = `{"format": 1, "id": "0123456789abcdef", "slug": "blog", "created": "2026-02-03T04:05:06Z"`

func TestSettingsDefaults(t *testing.T) {
	got, err := decodeSettings("workspace.json", []byte(identityJSON+`}`))
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{
		ID: "0123456789abcdef", Slug: "blog", Created: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC),
		Agent: AgentSpec{Kind: KindHoldfast}, Limits: Limits{2 << 30, 2, 512, 20 << 30}, Network: Network{Mode: NetworkNone}, Trust: Sandboxed,
	}
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("%+v", *got)
	}
	if got, err := decodeSettings("f", []byte(identityJSON+`, "agent": "claude"}`)); err != nil || got.Agent.Kind != KindClaude {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSettingsRefused(t *testing.T) {
	for field, want := range map[string]string{
		`"memory": "1g"`:                                           `2:1: invalid workspace settings: memory: unknown setting`,
		`"models": "x"`:                                            `2:1: invalid workspace settings: models: unknown setting`,
		`"limits": {"memory": "1x"}`:                               `2:22: invalid workspace settings: limits.memory: "1x" is not a number of bytes`,
		`"limits": {"memory": 0}`:                                  `2:22: invalid workspace settings: limits.memory: it cannot be 0`,
		`"limits": {"memory": "1m"}`:                               `2:22: invalid workspace settings: limits.memory: 1m is too little`,
		`"limits": {"memory": "none"}`:                             `2:22: invalid workspace settings: limits.memory: none is too little`,
		`"limits": {"cpus": "2"}`:                                  `2:20: invalid workspace settings: limits.cpus: got "2", want a number`,
		`"limits": {"cpus": 0}`:                                    `2:20: invalid workspace settings: limits.cpus: it cannot be 0`,
		`"limits": {"cpus": -1}`:                                   `2:20: invalid workspace settings: limits.cpus: -1 is not a number of processors`,
		`"limits": {"cpus": 1e99}`:                                 `limits.cpus: 1e+99 is not a number of processors`,
		`"limits": {"cpus": 1e999}`:                                `limits.cpus: got 1e999, want a number`,
		`"limits": {"pids": 3}`:                                    `limits.pids: 3 is not between`,
		`"limits": {"pids": 1.5}`:                                  `limits.pids: got 1.5, want a whole number`,
		`"limits": {"pids": 99999999999999999999}`:                 `limits.pids: got 99999999999999999999, want a whole number`,
		`"limits": {"disk": "1k"}`:                                 `limits.disk: 1k is too little`,
		`"limits": {"swap": "1g"}`:                                 `2:12: invalid workspace settings: limits.swap: unknown setting`,
		`"limits": []`:                                             `2:11: invalid workspace settings: limits: got a list, want an object`,
		`"limits": null`:                                           `limits: got null, want an object`,
		`"project": "relative"`:                                    `2:12: invalid workspace settings: project: "relative" is not an absolute path`,
		`"project": "/a/../b"`:                                     `project: "/a/../b" is not an absolute path`,
		`"project": "/a/"`:                                         `project: "/a/" is not an absolute path`,
		`"project": null`:                                          `project: got null, want a text`,
		`"image": "-v"`:                                            `image: "-v" is not an image name`,
		`"image": "a b"`:                                           `image: "a b" is not an image name`,
		`"image": "a\nb"`:                                          `image: "a\nb" is not an image name`,
		`"model": "--help"`:                                        `model: "--help" is not a model name`,
		`"model": "a\u0000"`:                                       `model: "a\x00" is not a model name`,
		`"agent": "gemini"`:                                        `agent.kind: unknown agent kind "gemini"`,
		`"agent": {"kind": "acp"}`:                                 `agent.command: an ACP agent needs a command`,
		`"agent": {"command": ["x"]}`:                              `agent.command: the built-in agent takes no command`,
		`"agent": {"kind": "claude", "command": [""]}`:             `agent.command[0]: "" is not a valid argument`,
		`"agent": {"kind": "claude", "command": "x"}`:              `agent.command: got "x", want a list`,
		`"agent": {"kind": "claude", "command": ["x",1]}`:          `2:45: invalid workspace settings: agent.command[1]: got 1, want a text`,
		`"network": {"mode": "bridge"}`:                            `2:21: invalid workspace settings: network.mode: unknown network mode "bridge"`,
		`"network": {"domains": ["a.b"]}`:                          `network.domains: domains have no effect without a network`,
		`"network": {"mode": "proxy", "domains": ["https://a.b"]}`: `network.domains[0]: `,
		`"network": {"mode": "proxy", "domains": ["a.b", "**"]}`:   `network.domains[1]: `,
		`"network": "none"`:                                        `network: got "none", want an object`,
		`"mounts": [{"host": "/a"}]`:                               `mounts[0].at: "" is not a path in the container`,
		`"mounts": [{"at": "/mnt/a"}]`:                             `mounts[0].host: "" is not an absolute path`,
		`"mounts": [{"host": "/a", "at": "/mnt/../etc"}]`:          `mounts[0].at: "/mnt/../etc" is not a path in the container`,
		`"mounts": [{"host": "/a", "at": "/"}]`:                    `mounts[0].at: "/" is not a path in the container`,
		`"mounts": [{"host": "/a", "at": "/a:rw"}]`:                `mounts[0].at: "/a:rw" is not a path in the container`,
		`"mounts": [{"host": "/a", "at": "/work/x"}]`:              `mounts[0].at: /work/x is reserved for the container`,
		`"mounts": [{"host": "/a", "at": "/run/holdfast"}]`:        `mounts[0].at: /run/holdfast is reserved for the container`,
		`"mounts": [{"host": "/a", "at": "/home/agent/.ssh"}]`:     `mounts[0].at: /home/agent/.ssh is reserved for the container`,
		`"mounts": [{"host": "/a", "at": "/proc"}]`:                `mounts[0].at: /proc is reserved for the container`,
		`"mounts": [{"host": "/a", "at": "/sys/fs/cgroup"}]`:       `mounts[0].at: /sys/fs/cgroup is reserved for the container`,
		`"mounts": [{"host": "/a", "at": "/mnt/a"}, {"host": "/b", "at": "/mnt/a"}]`:   `mounts[1].at: /mnt/a overlaps mounts[0].at (/mnt/a)`,
		`"mounts": [{"host": "/a", "at": "/mnt/a/b"}, {"host": "/b", "at": "/mnt/a"}]`: `mounts[1].at: /mnt/a overlaps mounts[0].at`,
		`"mounts": [{"host": "/a", "at": "/mnt/a", "readonly": "yes"}]`:                `mounts[0].readonly: got "yes", want true or false`,
		`"mounts": [{"host": "/a", "at": "/mnt/a", "options": "rw"}]`:                  `mounts[0].options: unknown setting`,
		`"mounts": [7]`:                   `mounts[0]: got 7, want an object`,
		`"credentials": ["A=secret"]`:     `credentials[0]: "A" has a value`,
		`"credentials": ["LD_PRELOAD"]`:   `credentials[0]: "LD_PRELOAD" is not allowed`,
		`"credentials": ["PATH"]`:         `credentials[0]: "PATH" is not allowed`,
		`"credentials": ["GOOD", "1BAD"]`: `credentials[1]: "1BAD" is an invalid name`,
		`"credentials": [""]`:             `credentials[0]: "" is an invalid name`,
		`"credentials": {"A": "b"}`:       `credentials: got an object, want a list`,
		`"trust": "full"`:                 `trust: a workspace is always sandboxed`,
		`"trust": "some"`:                 `trust: Unknown trust level "some"`,
		`"trust": null`:                   `trust: got null, want a text`,
		`"slug": "again"`:                 `duplicate key "slug"`,
		`"format": 1`:                     `duplicate key "format"`,
		`"x": {"a": 1, "a": 2}`:           `duplicate key "a"`,
		`"created": "x"`:                  `duplicate key "created"`,
		`"model": "\ud800"`:               `half of a surrogate pair`,
		`"mounts": [{"host": "/a",}]`:     `not JSON`,
	} {
		_, err := decodeSettings("workspace.json", []byte(identityJSON+",\n"+field+"}"))
		e, ok := errors.AsType[*Error](err)
		if !ok || !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) || !strings.Contains(e.Path, "workspace.json:2:") {
			t.Errorf("%s\n got %v\nwant %s", field, err, want)
			continue
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("it shows a value: %v", err)
		}
	}
}

func TestSettingsWithoutIdentity(t *testing.T) {
	for source, want := range map[string]string{
		``:                           `not JSON`,
		`[]`:                         `format: it is missing`,
		`{}`:                         `format: it is missing`,
		`{"format": "1"}`:            `format: "1" is not a version`,
		`{"format": 0}`:              `format: 0 is not a version`,
		`{"format": 1.5}`:            `format: 1.5 is not a version`,
		`{"format": 1}`:              `slug: it is empty`,
		`{"format": 1, "slug": "A"}`: `slug: "A" contains 'A'`,
		`{"format": 1, "slug": "a"}`: `id: "" is not 16 hexadecimal digits`,
		`{"format": 1, "slug": "a", "id": "0123456789abcdeF"}`:                                      `id: "0123456789abcdeF" is not`,
		`{"format": 1, "slug": "a", "id": "0123456789abcdef"}`:                                      `created: it is missing`,
		`{"format": 1, "slug": "a", "id": "0123456789abcdef", "created": "yesterday"}`:              `created: "yesterday" is not a time`,
		`{"format": 1, "slug": "a", "id": "0123456789abcdef", "created": "2026-01-01T00:00:00Z"} x`: `not JSON`,
	} {
		if _, err := decodeSettings("f", []byte(source)); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", source, err, want)
		}
	}
	// A newer version is reported as newer, whatever else the file contains.
	_, err := decodeSettings("f", []byte(`{"slug": 5, "novel": {}, "format": 2}`))
	if !errors.Is(err, ErrNewer) || outcome.FromError(err).Code != outcome.Corrupt.Code || !strings.Contains(outcome.Hint(err), "newer holdfast") {
		t.Errorf("%v, %v", err, outcome.FromError(err))
	}
}

func FuzzDecodeSettings(f *testing.F) {
	s := everySetting()
	b, err := s.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(identityJSON + `, "mounts": [{}], "limits": {"cpus": 1e1}}`))
	f.Fuzz(func(t *testing.T, source []byte) {
		s, err := decodeSettings("f", source)
		if err != nil {
			if e, ok := errors.AsType[*Error](err); !ok || e.Path == "" || !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrNewer) {
				t.Errorf("%v", err)
			}
			return
		}
		b, err := s.encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeSettings("f", b)
		if err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		if second, err := again.encode(); err != nil || string(second) != string(b) {
			t.Errorf("%v: %s\nis then %s", err, b, second)
		}
	})
}
