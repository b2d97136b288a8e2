package daemon

import (
	"context"
	_ "embed"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
)

var (
	//go:embed unit/holdfast.service
	serviceUnit string
	//go:embed unit/holdfast.socket
	socketUnit string
)

// unitCmd is `holdfast daemon unit`.
type unitCmd struct {
	Socket bool
	Resume bool
}

func (c *unitCmd) Declare(b *command.Builder) {
	b.Flag(&c.Socket, "socket", "", "", "The socket's unit, which starts the daemon for the first client.")
	c.Resume = true
	b.Flag(&c.Resume, "resume", "", "", "The daemon goes on by itself with runs that an earlier one left in the middle; --resume=false leaves them interrupted.")
}

// Help says more than one line.
func (c *unitCmd) Help() string {
	return `  holdfast daemon unit > ~/.config/systemd/user/holdfast.service
  holdfast daemon unit --socket > ~/.config/systemd/user/holdfast.socket
  systemctl --user daemon-reload
  systemctl --user enable --now holdfast.socket`
}

func (c *unitCmd) Run(_ context.Context, p *command.Program) error {
	if c.Socket {
		p.Out.Text(socketUnit)
		return nil
	}
	path, err := p.Executable()
	if err != nil {
		return err
	}
	unit := strings.ReplaceAll(serviceUnit, "@BINARY@", unitWord(path))
	if !c.Resume {
		unit = strings.Replace(unit, " daemon --resume\n", " daemon\n", 1)
	}
	p.Out.Text(unit)
	return nil
}

// unitWord is a path as ExecStart takes it: specifiers and variables are doubled, and
// what is not plain stands in quotes.
func unitWord(path string) string {
	path = strings.NewReplacer("%", "%%", "$", "$$").Replace(path)
	if !strings.ContainsAny(path, " \t\"'\\;") {
		return path
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}
