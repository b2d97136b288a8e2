package sandbox

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestDecodeRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, in    string
		field, what string // the exact field, and a part of the text
		hint        string // a part
		offset      int
	}{
		{"empty", ``, "", "not JSON: unexpected end", "{}", 0},
		{"cut off", `{"deniedPaths": [`, "", "not JSON: unexpected end", "", 16},
		{"null", `null`, "", "want an object, not null", "", 0},
		{"list", `[]`, "", "want an object", "", 0},
		{"comment", `{ // x`, "", "not JSON", "", 2},
		{"trailing comma", `{"deniedPaths":["/a",]}`, "", "not JSON", "", 21},
		{"more behind it", `{} {}`, "", "not JSON: invalid character '{' after", "", 3},
		{"not UTF-8", "{\"deniedPaths\":[\"\xff\"]}", "", "not UTF-8", "UTF-8", 17},
		{"half a character", `{"deniedPaths":["/\ud800"]}`, "", "half of a surrogate pair", "", 16},
		{"unknown", `{"deniedPath": []}`, "deniedPath", "unknown setting", "deniedPaths", 1},
		{"wrong case", `{"DeniedPaths": []}`, "DeniedPaths", "unknown setting", "did you mean deniedPaths?", 1},
		{"twice", `{"deniedPaths":[],"deniedPaths":["/"]}`, "", `duplicate key "deniedPaths"`, "keep one", 18},
		{"twice below", `{"network":{"allowLocalBinding":true,"allowLocalBinding":false}}`, "", `duplicate key "allowLocalBinding"`, "", 37},
		{"null list", `{"deniedPaths": null}`, "deniedPaths", "want a list, not null", "or write []", 16},
		{"null entry", `{"deniedPaths": [null]}`, "deniedPaths[0]", "want a string, not null", "", 17},
		{"text for a list", `{"deniedCommands": "rm"}`, "deniedCommands", `want a list, not "rm"`, `["…"]`, 19},
		{"number entry", `{"deniedPaths": ["/a", 5]}`, "deniedPaths[1]", "want a string, not 5", "", 23},
		{"object entry", `{"deniedPaths": [{}]}`, "deniedPaths[0]", "want a string", "", 17},
		{"text for a flag", `{"allowNestedSandbox": "yes"}`, "allowNestedSandbox", "true or false", "", 23},
		{"null flag", `{"allowNestedSandbox": null}`, "allowNestedSandbox", "want true or false, not null", "leave the field out", 23},
		{"null domains", `{"network": {"allowedDomains": null}}`, "network.allowedDomains", "want a list, not null", "", 31},
		{"unknown in network", `{"network": {"domains": []}}`, "network.domains", "unknown setting", "allowedDomains", 13},
		{"port too high", `{"network": {"httpProxyPort": 70000}}`, "network.httpProxyPort", "a port (1 to 65535)", "", 30},
		{"port 0", `{"network": {"socksProxyPort": 0}}`, "network.socksProxyPort", "a port", "", 31},
		{"port with a point", `{"network": {"httpProxyPort": 80.5}}`, "network.httpProxyPort", "a port", "", 30},
		{"port as text", `{"network": {"httpProxyPort": "80"}}`, "network.httpProxyPort", "a port", "", 30},
		{"ripgrep without a command", `{"ripgrep": {"args": []}}`, "ripgrep", "has no command", "rg", 12},
		{"ripgrep with an empty one", `{"ripgrep": {"command": ""}}`, "ripgrep.command", "is empty", "", 24},
		{"violations as a list", `{"ignoreViolations": []}`, "ignoreViolations", "an object", "", 21},
		{"violations of null", `{"ignoreViolations": {"file": null}}`, "ignoreViolations.file", "a list", "", 30},
		{"empty path", `{"allowedReadPaths": ["/a", ""]}`, "allowedReadPaths[1]", "is empty", `"/" for everything`, 28},
		{"path with NUL", `{"deniedPaths": ["/a\u0000"]}`, "deniedPaths[0]", "NUL", "", 17},
		{"path pattern", `{"deniedPaths": ["/a/**"]}`, "deniedPaths[0]", "is a pattern", "everything below", 17},
		{"other home", `{"deniedPaths": ["~u/.ssh"]}`, "deniedPaths[0]", "another user", "write the absolute path", 17},
		{"variable", `{"deniedPaths": ["$SECRETS/x"]}`, "deniedPaths[0]", "a variable", "$HOME", 17},
		{"variable inside", `{"deniedPaths": ["/a/${B}"]}`, "deniedPaths[0]", "a variable", "", 17},
		{"empty command", `{"allowedCommands": [""]}`, "allowedCommands[0]", "is empty", "", 21},
		{"command with arguments", `{"deniedCommands": ["rm -rf"]}`, "deniedCommands[0]", "more than the name", "write only the program name", 20},
		{"command pattern", `{"deniedCommands": ["r*"]}`, "deniedCommands[0]", "a pattern", "", 20},
		{"command folder", `{"deniedCommands": ["/opt/bin/"]}`, "deniedCommands[0]", "a folder", "", 20},
		{"empty domain", `{"network": {"allowedDomains": [""]}}`, "network.allowedDomains[0]", "is empty", `"*"`, 32},
		{"domain is a URL", `{"network": {"allowedDomains": ["https://a.example"]}}`, "network.allowedDomains[0]", "more than a host", "", 32},
		{"domain with a bad port", `{"network": {"allowedDomains": ["a.example:0"]}}`, "network.allowedDomains[0]", "is not a port", "1 to 65535", 32},
		{"denied domain", `{"network": {"deniedDomains": ["a b"]}}`, "network.deniedDomains[0]", "more than a host", "", 31},
		{"domain with a star inside", `{"network": {"allowedDomains": ["a.*.example"]}}`, "network.allowedDomains[0]", "a * in the wrong place", "", 32},
		{"domain like a number", `{"network": {"allowedDomains": ["127.1"]}}`, "network.allowedDomains[0]", "another spelling of an address", "write 127.0.0.1", 32},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := decode([]byte(tt.in))
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if e.Field != tt.field || !strings.Contains(e.Detail, tt.what) || !strings.Contains(e.Hint(), tt.hint) || e.Offset != tt.offset {
				t.Errorf("got field %q, what %q, hint %q, offset %d", e.Field, e.Detail, e.Hint(), e.Offset)
			}
			if !strings.HasSuffix(e.Error(), e.Detail) || !strings.HasPrefix(e.Error(), tt.field) {
				t.Errorf("text: %s", e)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	list := func(s ...string) *[]string { return &s }
	none := []string{}
	port := 8080
	for _, tt := range []struct {
		in   string
		want Settings
	}{
		{`{}`, Settings{}},
		{` {"allowedCommands": null, "network": null, "ripgrep": null, "ignoreViolations": null} `, Settings{}},
		{`{"allowedCommands": []}`, Settings{AllowedCommands: &none}},
		{
			`{"allowedReadPaths":["/a/","~/x"],"allowedWritePaths":["build"],"deniedPaths":["$HOME/.ssh"],"deniedCommands":["rm","/bin/dd"]}`,
			Settings{
				AllowedReadPaths: []string{"/a/", "~/x"}, AllowedWritePaths: []string{"build"},
				DeniedPaths: []string{"$HOME/.ssh"}, DeniedCommands: []string{"rm", "/bin/dd"},
			},
		},
		{`{"allowNestedSandbox":true,"autoAllowBashIfSandboxed":true}`, Settings{AllowNestedSandbox: new(true), AutoAllowBashIfSandboxed: new(true)}},
		{`{"ignoreViolations":{"file":["/a"]}}`, Settings{IgnoreViolations: map[string][]string{"file": {"/a"}}}},
		{`{"ripgrep":{"command":"rg","args":null}}`, Settings{Ripgrep: &Ripgrep{Command: "rg"}}},
		{`{"ripgrep":{"command":"rg","args":["-n"]}}`, Settings{Ripgrep: &Ripgrep{Command: "rg", Args: list("-n")}}},
		{
			`{"network":{"allowedDomains":["*.example.com","::1","*"],"httpProxyPort":8080,"socksProxyPort":null}}`,
			Settings{Network: &Network{AllowedDomains: []string{"*.example.com", "::1", "*"}, HTTPProxyPort: &port}},
		},
		{`{"network":{}}`, Settings{Network: &Network{AllowedDomains: []string{}}}},
	} {
		got, err := decode([]byte(tt.in))
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		if !reflect.DeepEqual(*got, tt.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", tt.in, *got, tt.want)
		}
	}
}

// Encoding what Decode has read, and decoding that, gives the same settings.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{}`, `null`, `{"deniedPaths":["/a"],"deniedPaths":[]}`, `{"allowedCommands":[]}`, `{"allowedCommands":null}`,
		`{"network":{"allowedDomains":["*.x.org"],"httpProxyPort":1}}`, `{"ripgrep":{"command":"rg","args":[]}}`,
		`{"ignoreViolations":{}}`, `{"deniedPaths":["~/x","$HOME/y","z"]}`, `{"a":{"b":[[[[[[]]]]]]}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := decode(in)
		if err != nil {
			if e, ok := errors.AsType[*Error](err); !ok || e.Detail == "" || e.Offset < 0 || e.Offset > len(in) {
				t.Fatalf("an error that says too little: %#v", err)
			}
			return
		}
		again, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		s2, err := decode(again)
		if err != nil {
			t.Fatalf("%s → %s: %v", in, again, err)
		}
		third, _ := json.Marshal(s2)
		if string(again) != string(third) {
			t.Fatalf("%s became %s", again, third)
		}
		_, _ = NewChecker(s, &Options{Home: "/nowhere/home", Dir: "/nowhere"}) // it may return an error, and must not panic
	})
}

// Settings that only the kernel enforces are accepted if there is a kernel sandbox, and rejected otherwise.
func TestCheck(t *testing.T) {
	port := 1080
	for field, s := range map[string]Settings{
		"allowNestedSandbox":              {AllowNestedSandbox: new(true)},
		"autoAllowBashIfSandboxed":        {AutoAllowBashIfSandboxed: new(true)},
		"allowUnsandboxedCommands":        {AllowUnsandboxedCommands: new(true)},
		"enableWeakerNestedSandbox":       {EnableWeakerNestedSandbox: new(true)},
		"ignoreViolations":                {IgnoreViolations: map[string][]string{}},
		"additionalWritePaths":            {AdditionalWritePaths: []string{"/x"}},
		"excludedCommands":                {ExcludedCommands: []string{"docker"}},
		"limits":                          {Limits: &Limits{Pids: 100}},
		"network.allowManagedDomainsOnly": {Network: &Network{AllowManagedDomainsOnly: true}},
		"network.allowUnixSockets":        {Network: &Network{AllowUnixSockets: true}},
		"network.allowAllUnixSockets":     {Network: &Network{AllowAllUnixSockets: true}},
		"network.httpProxyPort":           {Network: &Network{HTTPProxyPort: &port}},
		"network.socksProxyPort":          {Network: &Network{SOCKSProxyPort: &port}},
		"network.ask":                     {Network: &Network{Ask: new(true)}},
	} {
		for _, err := range []error{s.Check(), func() error { _, err := NewChecker(&s, nil); return err }()} {
			if e, ok := errors.AsType[*Error](err); hasKernelSandbox != (err == nil) || ok && e.Field != field {
				t.Errorf("%s: got %v", field, err)
			}
		}
		set := 0
		for _, f := range s.kernelFields() {
			if f.set {
				set++
			}
		}
		if set != 1 {
			t.Errorf("%s: %d fields need the kernel", field, set)
		}
	}
	off := &Settings{AllowNestedSandbox: new(false), Limits: &Limits{}, Network: &Network{}}
	for _, f := range off.kernelFields() {
		if f.set {
			t.Errorf("%s is false and asks for something", f.name)
		}
	}
	for _, err := range []error{(&Settings{Ripgrep: &Ripgrep{Command: "rg"}}).Check()} {
		if e, ok := errors.AsType[*Error](err); !ok || e.Field != "ripgrep" || e.Hint() != "remove it" {
			t.Errorf("got %v", err)
		}
	}
}

// Every field takes effect here, in the kernel, or is rejected: a new field must be added to one of these.
func TestNoFieldIsIgnored(t *testing.T) {
	effective := []string{
		"AllowedReadPaths", "AllowedWritePaths", "DeniedPaths", "ProtectedPaths", "DeniedCommands", "AllowedCommands", "Enabled",
		"Network", "Network.AllowedDomains", "Network.DeniedDomains", "Network.AllowLocalBinding",
	}
	refused := []string{"Ripgrep"}
	kernel := (&Settings{Network: &Network{}}).kernelFields()
	all := 0
	for _, typ := range []reflect.Type{reflect.TypeFor[Settings](), reflect.TypeFor[Network]()} {
		all += typ.NumField()
	}
	if got := len(effective) + len(refused) + len(kernel); got != all {
		t.Errorf("%d fields are known to have an effect or to be refused, there are %d", got, all)
	}
}

func TestNewCheckerRefuses(t *testing.T) {
	none := []string{""}
	for _, tt := range []struct {
		s     Settings
		o     Options
		field string
	}{
		{Settings{DeniedPaths: none}, Options{}, "deniedPaths[0]"},
		{Settings{AllowedReadPaths: []string{"/a", "/b/*"}}, Options{}, "allowedReadPaths[1]"},
		{Settings{AllowedWritePaths: []string{"build"}}, Options{}, "allowedWritePaths[0]"}, // relative to nothing
		{Settings{AllowedWritePaths: []string{"build"}}, Options{Dir: "also/relative"}, "allowedWritePaths[0]"},
		{Settings{DeniedPaths: []string{"~/x"}}, Options{Home: "relative"}, "deniedPaths[0]"},
		{Settings{DeniedCommands: []string{"rm", "a b"}}, Options{}, "deniedCommands[1]"},
		{Settings{DeniedCommands: []string{"./x"}}, Options{}, "deniedCommands[0]"},
		{Settings{AllowedCommands: &none}, Options{}, "allowedCommands[0]"},
		{Settings{Network: &Network{AllowedDomains: none}}, Options{}, "network.allowedDomains[0]"},
	} {
		_, err := NewChecker(&tt.s, &tt.o)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Field != tt.field || e.Hint() == "" {
			t.Errorf("%+v: got %v", tt.s, err)
		}
	}
}
