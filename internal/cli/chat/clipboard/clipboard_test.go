package clipboard_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/cli/chat/clipboard"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

const (
	dotBase64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
	dotHex    = "89504E470D0A1A0A0000000D4948445200000001000000010800000000 3A7E9B550000000A49444154789C6360000000020001 48AFA4710000000049454E44AE426082"
	dot       = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01"
)

func TestImage(t *testing.T) {
	hex := "«data PNGf" + strings.ReplaceAll(dotHex, " ", "") + "»\n"
	for _, tt := range []struct {
		name, os, env string
		out           map[string]string // output by command line, as far as it is compared
		want          string            // an error; "" is the image
	}{
		{"wayland", "linux", "WAYLAND_DISPLAY", map[string]string{"wl-paste --list-types": "text/html\nimage/png\n", "wl-paste --no-newline --type image/png": dot}, ""},
		{"x11", "linux", "DISPLAY", map[string]string{"xclip -selection clipboard -o -t TARGETS": "TARGETS\nimage/jpeg\nimage/png\n", "xclip -selection clipboard -o -t image/png": dot}, ""},
		{"wsl", "linux", "WSL_DISTRO_NAME", map[string]string{"powershell.exe -NoProfile": dotBase64 + "\r\n"}, ""},
		{"windows", "windows", "", map[string]string{"powershell -NoProfile": dotBase64}, ""},
		{"mac", "darwin", "", map[string]string{"osascript -e": hex}, ""},
		{"text", "linux", "WAYLAND_DISPLAY", map[string]string{"wl-paste --list-types": "text/plain\n"}, "has no image"},
		{"no text", "linux", "DISPLAY", nil, "xclip, which reads the clipboard, is not installed; install xclip"},
		{"mac, text", "darwin", "", map[string]string{"osascript -e": "error\n"}, "has no image"},
		{"windows, text", "windows", "", map[string]string{"powershell -NoProfile": ""}, "has no image"},
		{"damaged", "linux", "WAYLAND_DISPLAY", map[string]string{"wl-paste --list-types": "image/png\n", "wl-paste --no-newline": "text"}, "not an image"},
		{"ssh", "linux", "SSH_CONNECTION", nil, "over ssh; copy the file"},
		{"console", "linux", "", nil, "no desktop"},
	} {
		s := clipboard.System{
			OS: tt.os,
			Getenv: func(name string) string {
				if name == tt.env {
					return "x"
				}
				return ""
			},
			Run: func(_ context.Context, name string, args ...string) ([]byte, error) {
				line := name + " " + strings.Join(args, " ")
				for head, out := range tt.out {
					if strings.HasPrefix(line, head) {
						return []byte(out), nil
					}
				}
				return nil, &exec.Error{Name: name, Err: exec.ErrNotFound}
			},
		}
		b, err := s.Image(t.Context())
		switch {
		case tt.want == "" && (err != nil || !strings.HasPrefix(string(b), dot[:8])):
			t.Errorf("%s: %q %v", tt.name, b, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error()+"; "+outcome.Hint(err), tt.want)):
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestRun(t *testing.T) {
	if _, err := clipboard.Run(t.Context(), "no such program"); !errors.Is(err, exec.ErrNotFound) {
		t.Error(err)
	}
}
