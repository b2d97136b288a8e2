package sandbox

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDecodeLimits(t *testing.T) {
	for in, want := range map[string]Limits{
		`{}`:                            {},
		`{"cpu": 1.5}`:                  {CPU: 1.5},
		`{"cpu": 1e1}`:                  {CPU: 10},
		`{"memory": 4194304}`:           {Memory: 4 << 20},
		`{"memory": "512MiB"}`:          {Memory: 512 << 20},
		`{"memory": "512 MB"}`:          {Memory: 512e6},
		`{"memory": "1.5GiB"}`:          {Memory: 3 << 29},
		`{"memory": "1TiB"}`:            {Memory: 1 << 40},
		`{"fileSize": "64KiB"}`:         {FileSize: 64 << 10},
		`{"fileSize": "2000B"}`:         {FileSize: 2000},
		`{"outputBytes": "1MB"}`:        {OutputBytes: 1e6},
		`{"outputBytes": "4kB"}`:        {OutputBytes: 4000},
		`{"pids": 64, "wallTime":"1m"}`: {Pids: 64, WallTime: time.Minute},
		`{"wallTime": "1h30m10s"}`:      {WallTime: 90*time.Minute + 10*time.Second},
	} {
		s, err := decode([]byte(`{"limits": ` + in + `}`))
		if err != nil || *s.Limits != want {
			t.Errorf("%s: got %+v, %v", in, s, err)
		}
	}
}

func TestDecodeLimitsRefuses(t *testing.T) {
	for _, tt := range []struct{ in, field, what, hint string }{
		{`null`, "limits", "an object", ""},
		{`[]`, "limits", "an object", ""},
		{`{"mem": 1}`, "limits.mem", "unknown setting", "memory"},
		{`{"cpu": 0}`, "limits.cpu", "less than", "at least 0.01"},
		{`{"cpu": -1}`, "limits.cpu", "less than", ""},
		{`{"cpu": 100000}`, "limits.cpu", "above the maximum", "at most 4096"},
		{`{"cpu": "1"}`, "limits.cpu", "a number of processors", ""},
		{`{"cpu": 1e999}`, "limits.cpu", "a number of processors", ""},
		{`{"memory": 0}`, "limits.memory", "less than", "4MiB"},
		{`{"memory": -5}`, "limits.memory", "less than", "4MiB"},
		{`{"memory": "1MiB"}`, "limits.memory", "less than", "4MiB"},
		{`{"memory": "512M"}`, "limits.memory", "a number of bytes", ""},
		{`{"memory": "512mib"}`, "limits.memory", "a number of bytes", ""},
		{`{"memory": "-512MiB"}`, "limits.memory", "a number of bytes", ""},
		{`{"memory": "1e9MiB"}`, "limits.memory", "a number of bytes", ""},
		{`{"memory": "MiB"}`, "limits.memory", "a number of bytes", ""},
		{`{"memory": "1.2.3MiB"}`, "limits.memory", "a number of bytes", ""},
		{`{"memory": "infMiB"}`, "limits.memory", "a number of bytes", ""},
		{`{"memory": "0x10MiB"}`, "limits.memory", "a number of bytes", ""},
		{`{"memory": "99999999999TiB"}`, "limits.memory", "a number of bytes", ""},
		{`{"memory": 99999999999999999999}`, "limits.memory", "a number of bytes", ""},
		{`{"memory": 4.5e6}`, "limits.memory", "a number of bytes", ""},
		{`{"memory": true}`, "limits.memory", "a number of bytes", ""},
		{`{"memory": null}`, "limits.memory", "a number of bytes", "leave the field out"},
		{`{"pids": 2}`, "limits.pids", "less than", "at least 4"},
		{`{"pids": 1.5}`, "limits.pids", "a number of processes", ""},
		{`{"pids": 5000000}`, "limits.pids", "above the maximum", ""},
		{`{"fileSize": 10}`, "limits.fileSize", "less than", "1KiB"},
		{`{"wallTime": 30}`, "limits.wallTime", `"30s"`, ""},
		{`{"wallTime": "30"}`, "limits.wallTime", `"30s"`, ""},
		{`{"wallTime": "1ms"}`, "limits.wallTime", "less than", "100ms"},
		{`{"wallTime": "-1h"}`, "limits.wallTime", "less than", ""},
		{`{"outputBytes": 0}`, "limits.outputBytes", "less than", "1KiB"},
		{`{"pids": 64, "pids": 65}`, "", `duplicate key "pids"`, ""},
	} {
		_, err := decode([]byte(`{"limits": ` + tt.in + `}`))
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Field != tt.field || !strings.Contains(e.Detail, tt.what) || !strings.Contains(e.Hint(), tt.hint) {
			t.Errorf("%s: got %+v", tt.in, err)
		}
	}
}

// Limits that a program sets have the same range.
func TestNewCheckerBoundsLimits(t *testing.T) {
	for field, l := range map[string]Limits{
		"limits.cpu":         {CPU: math.NaN()},
		"limits.memory":      {Memory: 1},
		"limits.pids":        {Pids: -1},
		"limits.fileSize":    {FileSize: 1},
		"limits.wallTime":    {WallTime: time.Nanosecond},
		"limits.outputBytes": {OutputBytes: -1},
	} {
		_, err := NewChecker(&Settings{Limits: &l}, nil)
		if e, ok := errors.AsType[*Error](err); !ok || e.Field != field || e.Hint() == "" {
			t.Errorf("%s: got %v", field, err)
		}
	}
	if _, err := NewChecker(&Settings{Limits: &Limits{}}, nil); err != nil {
		t.Error(err)
	}
}

// Decode reads encoded settings as the same settings.
func TestSettingsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSettings(t)
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		back, err := decode(b)
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if !reflect.DeepEqual(s, back) {
			t.Fatalf("%s came back as %+v", b, back)
		}
		copied := s.clone()
		if !reflect.DeepEqual(*s, copied) {
			t.Fatalf("the copy of %+v is %+v", s, copied)
		}
	})
}

func drawSettings(t *rapid.T) *Settings {
	var (
		flag     = rapid.SampledFrom([]*bool{nil, new(true), new(false)})
		port     = rapid.SampledFrom([]*int{nil, new(1), new(8080)})
		lists    = func(from ...string) []string { return rapid.SliceOfN(rapid.SampledFrom(from), 0, 3).Draw(t, "list") }
		optional = func(from ...string) []string {
			if l := lists(from...); len(l) > 0 {
				return l
			}
			return nil
		}
		paths = func() []string { return optional("/", "/a/b", "~/x", "./y", "z", "$HOME/.ssh", `with "quotes" and ü`) }
	)
	s := &Settings{
		AllowedReadPaths: paths(), AllowedWritePaths: paths(), DeniedPaths: paths(), ProtectedPaths: paths(), AdditionalWritePaths: paths(),
		DeniedCommands: optional("rm", "/bin/dd"), ExcludedCommands: optional("docker", "git push", "npm run x:*"),
		AllowNestedSandbox: flag.Draw(t, "nested"), AutoAllowBashIfSandboxed: flag.Draw(t, "auto"),
		AllowUnsandboxedCommands: flag.Draw(t, "outside"), EnableWeakerNestedSandbox: flag.Draw(t, "weaker"), Enabled: flag.Draw(t, "enabled"),
	}
	if rapid.Bool().Draw(t, "allowed") {
		s.AllowedCommands = new(lists("ls", "git"))
	}
	if rapid.Bool().Draw(t, "ignore") {
		s.IgnoreViolations = map[string][]string{}
		for _, key := range optional("*", "path", "npm test") {
			s.IgnoreViolations[key] = lists("/a", "b", "*")
		}
	}
	if rapid.Bool().Draw(t, "network") {
		s.Network = &Network{
			AllowedDomains: lists("a.org", "*.b.org:8443", "10.0.0.0/8", "*", "[::1]:80"), DeniedDomains: optional("c.org", "*.d.org"),
			Ask: new(rapid.Bool().Draw(t, "ask")), AllowLocalBinding: new(rapid.Bool().Draw(t, "local")), AllowUnixSockets: rapid.Bool().Draw(t, "unix"),
			HTTPProxyPort: port.Draw(t, "http"), SOCKSProxyPort: port.Draw(t, "socks"),
		}
	}
	if rapid.Bool().Draw(t, "limits") {
		some := func(least int64) int64 {
			return rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(least, math.MaxInt64)).Draw(t, "limit")
		}
		s.Limits = &Limits{
			CPU:    rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(minCPU, maxCPU)).Draw(t, "cpu"),
			Memory: some(minMemory), FileSize: some(minFileSize), OutputBytes: some(minOutput), WallTime: time.Duration(some(int64(minWallTime))),
			Pids: rapid.OneOf(rapid.Just(0), rapid.IntRange(minPids, maxPids)).Draw(t, "pids"),
		}
	}
	return s
}

func TestLimitsLeast(t *testing.T) {
	a := Limits{CPU: 2, Memory: 8 << 20, WallTime: time.Second}
	b := Limits{CPU: 1, Memory: 16 << 20, Pids: 10}
	want := Limits{CPU: 1, Memory: 8 << 20, Pids: 10, WallTime: time.Second}
	if a.least(b) != want || b.least(a) != want || want.least(Limits{}) != want || (Limits{}).least(want) != want {
		t.Errorf("%+v %+v", a.least(b), b.least(a))
	}
}
