package sandbox

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// Claude Code's block is decoded into the equivalent settings.
func TestDecodeClaude(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want Settings
	}{
		{`{"enabled": true}`, Settings{Enabled: new(true)}},
		{`{"enabled": false, "failIfUnavailable": true}`, Settings{Enabled: new(false)}},
		{`{"allowNestedUserNamespaces": true}`, Settings{AllowNestedSandbox: new(true)}},
		{`{"allowAppleEvents": false, "enableWeakerNetworkIsolation": false}`, Settings{}},
		{`{"filesystem": {}}`, Settings{}},
		{`{"filesystem": {"disabled": false, "allowManagedReadPathsOnly": false}}`, Settings{}},
		{
			`{"filesystem": {"allowWrite": ["//tmp/build", "/var/x", "~/.cache/**", "./out", "dist", "**", "/**", "//**"]}}`,
			Settings{AdditionalWritePaths: []string{"/tmp/build", "/var/x", "~/.cache", "./out", "dist", ".", "/", "/"}},
		},
		{
			`{"filesystem": {"denyWrite": ["Makefile"], "denyRead": ["~/.aws/**"]}}`,
			Settings{ProtectedPaths: []string{"Makefile"}, DeniedPaths: []string{"~/.aws"}},
		},
		{
			`{"filesystem": {"allowRead": [".", "/usr"], "denyRead": ["/", "secret"]}}`,
			Settings{AllowedReadPaths: []string{".", "/usr"}, DeniedPaths: []string{"secret"}},
		},
		{`{"filesystem": {"allowRead": [], "denyRead": ["/"]}}`, Settings{DeniedPaths: []string{"/"}}},
		{
			`{"network": {"allowedDomains": ["a.org"], "strictAllowlist": true, "allowUnixSockets": []}}`,
			Settings{Network: &Network{AllowedDomains: []string{"a.org"}, Ask: new(false)}},
		},
		{
			`{"network": {"strictAllowlist": false, "allowUnixSockets": true, "deniedDomains": ["x.org"]}}`,
			Settings{Network: &Network{AllowedDomains: []string{}, DeniedDomains: []string{"x.org"}, Ask: new(true), AllowUnixSockets: true}},
		},
		{
			`{"excludedCommands": ["docker *", "git push"], "ignoreViolations": {"*": ["/usr/bin"], "git push": ["/usr/bin/nc"]}}`,
			Settings{
				ExcludedCommands: []string{"docker *", "git push"},
				IgnoreViolations: map[string][]string{"*": {"/usr/bin"}, "git push": {"/usr/bin/nc"}},
			},
		},
		{ // both forms, if no setting is duplicated
			`{"deniedCommands": ["rm"], "filesystem": {"denyRead": ["s"]}, "protectedPaths": ["p"], "allowedReadPaths": ["/"]}`,
			Settings{DeniedCommands: []string{"rm"}, DeniedPaths: []string{"s"}, ProtectedPaths: []string{"p"}, AllowedReadPaths: []string{"/"}},
		},
	} {
		got, err := decode([]byte(tt.in))
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		if !reflect.DeepEqual(*got, tt.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", tt.in, *got, tt.want)
		}
		again, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := decode(again); err != nil || !reflect.DeepEqual(back, got) {
			t.Errorf("%s came back as %+v (%v)", again, back, err)
		}
	}
}

// Fields without an equivalent are rejected, with the reason.
func TestDecodeClaudeRefuses(t *testing.T) {
	for _, tt := range []struct{ in, field, what string }{
		{`{"failIfUnavailable": false}`, "failIfUnavailable", "commands unconfined"},
		{`{"failIfUnavailable": 1}`, "failIfUnavailable", "true or false"},
		{`{"allowAppleEvents": true}`, "allowAppleEvents", "macOS"},
		{`{"enableWeakerNetworkIsolation": true}`, "enableWeakerNetworkIsolation", "weaker"},
		{`{"bwrapPath": "/usr/bin/bwrap"}`, "bwrapPath", "no helper program"},
		{`{"socatPath": "/usr/bin/socat"}`, "socatPath", "no helper program"},
		{`{"enabledPlatforms": ["linux"]}`, "enabledPlatforms", "no effect"},
		{`{"credentials": {"files": []}}`, "credentials", "no effect"},
		{`{"filesystem": {"disabled": true}}`, "filesystem.disabled", "always confined"},
		{`{"filesystem": {"allowManagedReadPathsOnly": true}}`, "filesystem.allowManagedReadPathsOnly", "on its own"},
		{`{"filesystem": {"allowWrites": []}}`, "filesystem.allowWrites", "unknown setting"},
		{`{"filesystem": null}`, "filesystem", "an object"},
		{`{"filesystem": {"allowWrite": ["src/*.go"]}}`, "filesystem.allowWrite[0]", "is a pattern"},
		{`{"filesystem": {"denyWrite": ["**/.env"]}}`, "filesystem.denyWrite[0]", "is a pattern"},
		{`{"filesystem": {"denyRead": ["a/**/b"]}}`, "filesystem.denyRead[0]", "is a pattern"},
		{`{"filesystem": {"denyRead": [""]}}`, "filesystem.denyRead[0]", "is empty"},
		{`{"filesystem": {"allowRead": ["~/.ssh/config"]}}`, "filesystem.allowRead", "denyRead does not contain"},
		{`{"filesystem": {"denyRead": ["~"], "allowRead": ["."]}}`, "filesystem.allowRead", "denyRead does not contain"},
		{`{"filesystem": {"denyRead": ["/", "/home"], "allowRead": ["/home/me/x"]}}`, "filesystem.allowRead", "inside /home"},
		{`{"network": {"allowUnixSockets": ["/var/run/docker.sock"]}}`, "network.allowUnixSockets[0]", "only on macOS"},
		{`{"network": {"allowUnixSockets": "yes"}}`, "network.allowUnixSockets", "true or false"},
		{`{"network": {"allowMachLookup": ["x"]}}`, "network.allowMachLookup", "macOS"},
		{`{"network": {"tlsTerminate": {}}}`, "network.tlsTerminate", "TLS"},

		{`{"deniedPaths": ["a"], "filesystem": {"denyRead": ["b"]}}`, "filesystem.denyRead", "duplicates deniedPaths"},
		{`{"filesystem": {"denyRead": ["b"]}, "deniedPaths": ["a"]}`, "deniedPaths", "duplicates filesystem.denyRead"},
		{`{"filesystem": {"denyWrite": ["b"]}, "protectedPaths": []}`, "protectedPaths", "duplicates"},
		{`{"filesystem": {"allowWrite": ["b"]}, "additionalWritePaths": []}`, "additionalWritePaths", "duplicates"},
		{`{"filesystem": {"denyRead": ["/"], "allowRead": ["b"]}, "allowedReadPaths": []}`, "allowedReadPaths", "duplicates"},
		{`{"allowNestedSandbox": true, "allowNestedUserNamespaces": true}`, "allowNestedUserNamespaces", "duplicates"},
		{`{"network": {"ask": true, "strictAllowlist": true}}`, "network.strictAllowlist", "duplicates network.ask"},
	} {
		_, err := decode([]byte(tt.in))
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Field != tt.field || !strings.Contains(e.Detail, tt.what) || e.Offset == 0 {
			t.Errorf("%s: got %+v", tt.in, err)
			continue
		}
		if e.Hint() == "" && !strings.Contains(e.Detail, "want ") {
			t.Errorf("%s: no hint in %v", tt.in, err)
		}
	}
}
