package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
)

// A flag overrides a variable, which overrides the settings, which override the default; an empty variable is
// ignored: cd-srv-041. Unknown settings are rejected: cd-srv-042.
func TestDaemonSettings(t *testing.T) {
	minute := time.Minute
	const file = `{"daemon": {"listen": ["127.0.0.1:3"], "drain": "3s", "logFormat": "json", "allowHosts": ["file.example"]}}`
	for name, tt := range map[string]struct {
		flags listenFlags
		env   []string
		file  string
		want  string
	}{
		"default":        {want: "[] 30s  []"},
		"settings":       {file: file, want: "[127.0.0.1:3] 3s json [file.example]"},
		"variables":      {file: file, env: []string{"LISTEN=127.0.0.1:2, [::1]:2", "DRAIN=2s", "LOG_FORMAT=text"}, want: "[127.0.0.1:2 [::1]:2] 2s text [file.example]"},
		"empty":          {file: file, env: []string{"LISTEN=", "DRAIN=", "LOG_FORMAT=", "ALLOW_HOST= , "}, want: "[127.0.0.1:3] 3s json [file.example]"},
		"flags":          {file: file, env: []string{"LISTEN=127.0.0.1:2", "DRAIN=2s"}, flags: listenFlags{Listen: []string{"127.0.0.1:1"}, Drain: &minute}, want: "[127.0.0.1:1] 1m0s json [file.example]"},
		"unknown key":    {file: `{"daemon": {"port": 1}}`, want: `unknown key "daemon.port"`},
		"no time":        {env: []string{"DRAIN=soon"}, want: `HOLDFAST_DAEMON_DRAIN: invalid duration "soon"`},
		"negative":       {env: []string{"DRAIN=-1s"}, want: "must not be negative"},
		"no format":      {env: []string{"LOG_FORMAT=xml"}, want: `unknown log format "xml"`},
		"not loopback":   {env: []string{"LISTEN=0.0.0.0:1"}, want: "can be reached from other machines"},
		"half of TLS":    {flags: listenFlags{TLSCert: "/c.pem"}, want: "both a certificate and its key"},
		"no certificate": {flags: listenFlags{TLSCert: "/none/c.pem", TLSKey: "/none/k.pem"}, want: "/none/c.pem"},
		"no address":     {flags: listenFlags{Listen: []string{"7423"}}, want: `invalid listen address "7423"`},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			if tt.file != "" {
				if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(tt.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			p := &command.Program{Managed: filepath.Join(home, "none.json")}
			for _, pair := range tt.env {
				p.Env = append(p.Env, "HOLDFAST_DAEMON_"+pair)
			}
			p.SetDefaults()
			c := tt.flags
			_, err := c.complete(p, home)
			got := fmt.Sprint(err)
			if err == nil {
				got = fmt.Sprintf("%v %s %s %v", c.Listen, c.Drain, c.LogFormat, c.AllowHost)
			}
			if err == nil && got != tt.want || !strings.Contains(got, tt.want) {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}
