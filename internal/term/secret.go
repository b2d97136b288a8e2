package term

import (
	"context"
	"errors"
	"strings"
)

// ErrEchoes means that typed text would be visible, because the terminal cannot turn off echo.
var ErrEchoes = errors.New("this terminal cannot hide what is typed")

// Secret asks for a line. The terminal does not echo what the user types. ok is false at the end of
// the input.
func (p *Prompter) Secret(ctx context.Context, text string) (line string, ok bool, err error) {
	line, ok, err = p.keys.secret(ctx, func() {
		p.Flush()
		p.Out.Text(p.Out.Bold(text))
	})
	p.Out.EndLine()
	return line, ok, err
}

// secret reads a line without echo. It calls the function ask after it has turned off echo.
// Backspace and Ctrl-U work as in a shell.
func (k *Keyboard) secret(ctx context.Context, ask func()) (string, bool, error) {
	if k.tty == nil {
		return "", false, ErrEchoes
	}
	restore, err := rawKeys(k.tty)
	if err != nil {
		return "", false, errors.Join(ErrEchoes, err)
	}
	defer restore()
	resumed, done := continued()
	defer done()
	ask()
	var typed []byte
	for {
		c, ok, err := k.next(ctx, resumed)
		switch {
		case errors.Is(err, errResumed): // the shell has used the terminal while the program was stopped
			if _, err := rawKeys(k.tty); err != nil {
				return "", false, err
			}
		case !ok || err != nil:
			return "", false, err
		case c == '\n' || c == '\r':
			return strings.TrimSpace(string(typed)), true, nil
		case c == 0x7f || c == '\b':
			typed = typed[:max(len(typed)-1, 0)]
		case c == 'U'-'@':
			typed = typed[:0]
		case c == 'D'-'@':
			return "", false, nil
		default:
			typed = append(typed, c)
		}
	}
}
