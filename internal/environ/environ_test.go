package environ

import (
	"slices"
	"testing"
)

func TestForCommands(t *testing.T) {
	got := ForCommands([]string{
		"PATH=/bin", "HOME=/h", "ANTHROPIC_API_KEY=k", "AWS_SECRET_ACCESS_KEY=k", "LC_ALL=C", "LC=x", "TERM=xterm", "LD_PRELOAD=/x",
		"BASH_ENV=/x", "TMPDIR=/t", "TZ=UTC", "GIT_DIR=/x", "=C:=x", "nonsense", "SSH_AUTH_SOCK=/x",
	})
	if want := []string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "TERM=xterm", "TMPDIR=/t", "TZ=UTC"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
