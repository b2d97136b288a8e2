//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// If a command failed, a refused write is reported, whatever error the command printed, and even if it
// printed none.
func TestSilentWriteFailures(t *testing.T) {
	box, home := openWidenBox(t, ".known/file", ".cache/", ".file")
	for _, tt := range []struct {
		name, line string
		want       []string // below the home folder
	}{
		{"a folder", "mkdir $H/.new 2>&- || exit 1", []string{".new"}},
		{"a file", "(: >$H/.known/x) 2>&- || exit 1", []string{".known/x"}},
		{"one that is there", "(: >>$H/.known/file) 2>&- || exit 1", []string{".known/file"}},
		{"another error is told", "mkdir $H/.new 2>&- || { echo 'no such file or directory' >&2; exit 1; }", []string{".new"}},
		{"relative", "cd $H/.known; (: >x) 2>&- || exit 1", []string{".known/x"}},
		{"one place after the other", "mkdir $H/.one $H/.two 2>&- || exit 1", []string{".one", ".two"}},
		{"with its parents", "mkdir -p $H/.cache/tool/data 2>&- || exit 1", []string{".cache/tool"}},
		{"temporary files do not count", "mkdir $H/.new 2>&-; echo x >/tmp/x; exit 1", []string{".new"}},

		{"it went on", "mkdir $H/.new 2>&-; echo x >here; exit 1", nil},
		{"it did not fail", "mkdir $H/.new 2>&-; exit 0", nil},
		{"its parent is missing", "(: >$H/.no/x) 2>&- || exit 1", nil},
		{"it is there", "mkdir $H/.known 2>&- || exit 1", nil},
		{"not to be opened", "(: >$H/.bashrc) 2>&- || exit 1", nil},
		{"the message names it already", "mkdir $H/.two 2>&-; mkdir $H/.new || exit 1", []string{".new"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := sh(t, box, "H="+home+"; "+tt.line)
			c.Stderr = new(bytes.Buffer)
			_ = c.Run()
			var got []string
			for _, v := range c.Report().Violations {
				if v.Kind == kindPath && v.Op == "write" {
					got = append(got, strings.TrimPrefix(v.Subject, home+"/"))
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("reported %q, want %q", got, tt.want)
			}
		})
	}
}
