package version

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

func TestString(t *testing.T) {
	d := Doc{Version: "1.2.3", Go: "go1.26.1", OS: "linux", Arch: "amd64"}
	for _, tt := range []struct {
		revision, want string
	}{
		{"", "holdfast 1.2.3 go1.26.1 linux/amd64"},
		{"0123456789ab", "holdfast 1.2.3 (0123456789ab) go1.26.1 linux/amd64"},
	} {
		d.Revision = tt.revision
		if got := d.String(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
		if want, err := json.Marshal(d); err != nil || d.JSON() != string(want) {
			t.Errorf("got %s, want %s, %v", d.JSON(), want, err)
		}
	}
}

func TestOfFile(t *testing.T) {
	const in = "github.com/holdfast-dev/holdfast"
	for _, tt := range []struct {
		folder, number, commit string
	}{
		{in, next + "-dev", ""},
		{"/home/ann/src/holdfast", next + "-dev", ""},
		{"/home/ann@vienna/src/holdfast", next + "-dev", ""},
		{in + "@v0.9.0", "0.9.0", ""},
		{"/go/pkg/mod/" + in + "@v0.9.0", "0.9.0", ""},
		{in + "@v1.2.3-rc.1", "1.2.3-rc.1", ""},
		{in + "@v0.0.0-20261128054429-298f9efd0000", next + "-dev", "298f9efd0000"},
		{in + "@v0.9.1-0.20261128054429-298f9efd0000", next + "-dev", "298f9efd0000"},
		{in + "@v0.9.1-rc.1.0.20261128054429-298f9efd0000", next + "-dev", "298f9efd0000"},
		{in + "@v0.9.1-0123456789ab", "0.9.1-0123456789ab", ""}, // a tag that somebody chose
	} {
		if number, commit := fromFile(tt.folder + "/internal/version/version.go"); number != tt.number || commit != tt.commit {
			t.Errorf("%s: %s %s, want %s %s", tt.folder, number, commit, tt.number, tt.commit)
		}
	}
}

func TestAnswer(t *testing.T) {
	for _, tt := range []struct {
		args string
		ok   bool
	}{
		{"", false},
		{"run version", false},
		{"version extra", false},
		{"version --help", false},
		{"version --json x", false},
		{"version", true},
		{"--version", true},
		{"version --json", true},
	} {
		text, ok := PrintEarly(strings.Fields(tt.args))
		if ok != tt.ok || ok != strings.HasSuffix(text, "\n") {
			t.Errorf("PrintEarly(%q) = %q, %v", tt.args, text, ok)
		}
	}
	text, _ := PrintEarly([]string{"version", "--json"})
	var d Doc
	if err := json.Unmarshal([]byte(text), &d); err != nil || d.Go != runtime.Version() || d.Format != SessionFormat || d.Version == "" {
		t.Errorf("%s: %+v, %v", text, d, err)
	}
}
