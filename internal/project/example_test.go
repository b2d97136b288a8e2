package project_test

import (
	"fmt"
	"log"
	"os"

	"github.com/holdfast-dev/holdfast/internal/project"
)

func ExampleID() {
	dir, err := os.MkdirTemp("", "project")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	id, branch, err := project.ID(dir)
	if err != nil {
		log.Fatal(err)
	}
	again, _, err := project.ID(dir)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(id), id == again, branch == "")
	// Output: 32 true true
}
