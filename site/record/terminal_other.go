//go:build !linux

package main

import "errors"

func run(command, recording, string, []string) ([]chunk, error) {
	return nil, errors.New("recordings are made on Linux only")
}
