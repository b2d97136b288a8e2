package view

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/transcript"
)

func tokens(u transcript.Usage) string {
	n := u.Input + u.CacheRead + u.CacheWrite + u.Output
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%.1fM tokens", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%.1fk tokens", float64(n)/1e3)
	}
	return term.Count(int(n), "token")
}
