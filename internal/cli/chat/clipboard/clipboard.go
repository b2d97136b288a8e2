// Package clipboard reads the image on the clipboard of the desktop, with programs that the system
// has.
//
//	Linux: wl-paste, xclip    macOS: osascript    Windows, WSL: powershell
package clipboard

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/inputimage"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// System is what the package needs of the system.
type System struct {
	OS     string // runtime.GOOS
	Getenv func(name string) string
	Run    func(ctx context.Context, name string, args ...string) ([]byte, error)
}

// Run runs a program of the system and returns its output.
func Run(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	return cmd.Output()
}

var errNone = outcome.Invalid("the clipboard has no image", "copy one first, or name a file with @")

// timeout is how long a program may take: an owner of the clipboard can hang.
const timeout = 10 * time.Second

// Image returns the image on the clipboard as a file. The error says why there is none, and what to
// do.
func (s *System) Image(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	switch {
	case s.OS == "darwin":
		return s.mac(ctx)
	case s.OS == "windows":
		return s.windows(ctx, "powershell")
	case s.Getenv("WSL_DISTRO_NAME") != "":
		return s.windows(ctx, "powershell.exe")
	case s.Getenv("WAYLAND_DISPLAY") != "":
		return s.list(ctx, "wl-paste", "wl-clipboard", []string{"--list-types"}, func(kind string) []string { return []string{"--no-newline", "--type", kind} })
	case s.Getenv("DISPLAY") != "":
		get := func(kind string) []string { return []string{"-selection", "clipboard", "-o", "-t", kind} }
		return s.list(ctx, "xclip", "xclip", get("TARGETS"), get)
	case s.Getenv("SSH_CONNECTION") != "":
		return nil, outcome.Invalid("the clipboard of your computer cannot be read over ssh", "copy the file to this machine and name it with @")
	}
	return nil, outcome.Invalid("there is no desktop whose clipboard can be read", "name a file with @")
}

// list reads the clipboard with a program that can list its types.
func (s *System) list(ctx context.Context, program, pack string, types []string, get func(kind string) []string) ([]byte, error) {
	b, err := s.Run(ctx, program, types...)
	if errors.Is(err, exec.ErrNotFound) {
		return nil, outcome.Invalid(program+", which reads the clipboard, is not installed", "install "+pack+", or name a file with @")
	}
	offered := strings.Fields(string(b))
	for _, kind := range []string{"image/png", "image/jpeg", "image/webp", "image/gif"} {
		if slices.Contains(offered, kind) {
			return image(s.Run(ctx, program, get(kind)...))
		}
	}
	return nil, errNone
}

// mac gets the image as text: «data PNGf8950…».
func (s *System) mac(ctx context.Context) ([]byte, error) {
	b, err := s.Run(ctx, "osascript", "-e", "get the clipboard as «class PNGf»")
	text, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "«data PNGf")
	if err != nil || !ok {
		return nil, errNone
	}
	return image(hex.DecodeString(strings.TrimSuffix(text, "»")))
}

const powershellScript = `Add-Type -AssemblyName System.Windows.Forms, System.Drawing
$i = [Windows.Forms.Clipboard]::GetImage()
if ($i) { $m = New-Object IO.MemoryStream; $i.Save($m, [Drawing.Imaging.ImageFormat]::Png); [Convert]::ToBase64String($m.ToArray()) }`

func (s *System) windows(ctx context.Context, program string) ([]byte, error) {
	b, err := s.Run(ctx, program, "-NoProfile", "-NonInteractive", "-STA", "-Command", powershellScript)
	if errors.Is(err, exec.ErrNotFound) {
		return nil, outcome.Invalid(program+", which reads the clipboard, was not found", "name a file with @")
	}
	return image(base64.StdEncoding.DecodeString(string(bytes.TrimSpace(b))))
}

// image returns the data of a program if it is an image.
func image(data []byte, err error) ([]byte, error) {
	if err != nil || len(data) == 0 {
		return nil, errNone
	}
	_, err = inputimage.Check(data)
	return data, err
}
