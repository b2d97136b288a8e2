// Record makes the terminal recordings of the documentation: it runs holdfast in a
// terminal and writes what appears there as an animated SVG. The SVG has no script
// and no font, so that it plays in an <img> element on GitHub and on the site.
//
//	go -C site run ./record -program ../holdfast -o ../docs [NAME…]
//
// It runs the real program. Only the model is scripted (plays/*.yaml), and pauses
// are shortened or prolonged so that the recording can be read.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("record: ")
	program := flag.String("program", "../holdfast", "the holdfast `file` to record")
	out := flag.String("o", "../docs", "the documentation's `folder`")
	flag.Parse()
	if err := record(*program, *out, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

// lines returns the lines of a recording.
func (s *environment) lines(sc recording) ([][]frame, error) {
	if sc.conversation {
		return s.converse(sc)
	}
	chunks, err := s.record(sc)
	return newScreen(sc.columns, chunks).lines, err
}

// record makes the named recordings, or all.
func record(program, out string, names []string) error {
	s, err := newEnvironment(program)
	if s != nil {
		defer s.remove()
	}
	if err != nil {
		return err
	}
	for _, sc := range recordings {
		if len(names) > 0 && !slices.Contains(names, sc.name) {
			continue
		}
		lines, err := s.lines(sc)
		if err != nil {
			return fmt.Errorf("%s: %w", sc.name, err)
		}
		picture := draw(sc, lines)
		file := filepath.Join(out, sc.name+".svg")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, picture, 0o644); err != nil {
			return err
		}
		fmt.Printf("%s: %d bytes\n", file, len(picture))
	}
	return nil
}
