package term

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Count formats a number and a noun: "1 item" or "3 items".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Short formats a number in at most six characters: "840", "12.4k", "200k", "2.5M".
func Short(n int64) string {
	switch {
	case n >= 999_500_000:
		return fmt.Sprintf("%.1fG", float64(n)/1e9)
	case n >= 999_500:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 100_000:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	case n >= 1000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}

// Tokens formats a number of tokens.
func Tokens(n int64) string {
	if n == 1 {
		return "1 token"
	}
	return Short(n) + " tokens"
}

// Dollars formats an amount in US dollars, with four decimals if it is below one cent.
func Dollars(usd float64) string {
	if usd < 0.01 {
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

// Size formats a number of bytes.
func Size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

// Age formats how long ago something happened.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours()/24))
}

// Truncate returns text as one line of at most n characters, safe for a terminal.
func Truncate(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	return Clip(Escape(s), max(n, 10))
}

// Quote quotes a word for a POSIX shell if it needs quotes.
func Quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,=+@%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Column pads or cuts s to n columns of a terminal, see [Width].
func Column(s string, n int) string {
	s = Clip(s, n)
	return s + strings.Repeat(" ", max(0, n-Width(s)))
}

// Clip cuts s to n columns of a terminal, see [Width].
func Clip(s string, n int) string {
	if n < 1 || Width(s) <= n {
		return s
	}
	return ansi.Truncate(s, n, "…")
}

// OneLine joins the lines of a text with "; ".
func OneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// Elapsed formats a duration in few characters: "0.3 s", "12 s", "2 min 5 s".
func Elapsed(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}
