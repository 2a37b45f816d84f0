// franz-go's sticky balancers on the groups of the assignor benchmark.
//
// The first line of stdin is the group as JSON. Every further line asks for one balance, which answers with its
// nanoseconds and with how many partitions it gave out. Only Balance is timed, not the decoding of what members say.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"sort"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type workload struct {
	Assignor      string
	Members       int
	Ratio         int
	Topics        int
	Event         string
	Subscriptions string
}

type member struct {
	id         string
	topics     []string
	owned      map[string][]int32
	generation int32
}

func (w workload) balancer() kgo.GroupBalancer {
	if w.Assignor == "sticky" {
		return kgo.StickyBalancer()
	}
	return kgo.CooperativeStickyBalancer()
}

func (w workload) counts() map[string]int32 {
	counts := make(map[string]int32)
	for t := range w.Topics {
		counts[fmt.Sprintf("topic%d", t)] = int32(w.Members * w.Ratio / w.Topics)
	}
	return counts
}

func (w workload) member(number int) member {
	block, blocks := 0, 1
	if w.Subscriptions == "unequal" {
		block, blocks = number/((w.Members+4)/5), 5
	}
	width := (w.Topics + blocks - 1) / blocks
	m := member{id: fmt.Sprintf("member%d", number), generation: -1}
	for t := block * width; t < min(w.Topics, (block+1)*width); t++ {
		m.topics = append(m.topics, fmt.Sprintf("topic%d", t))
	}
	sort.Strings(m.topics)
	return m
}

func (w workload) group() []member {
	var members []member
	for number := range w.Members {
		members = append(members, w.member(number))
	}
	switch w.Event {
	case "join":
		last := members[w.Members-1]
		last.id = "newMember"
		members = w.carriedOn(members[:w.Members-1])
		return append(members, last)
	case "leave":
		return w.carriedOn(members)[1:]
	}
	return members
}

// The members after one full round.
func (w workload) carriedOn(members []member) []member {
	balancer := w.balancer()
	plan, err := w.prepare(members).BalanceOrError(w.counts())
	if err != nil {
		panic(err)
	}
	owned := make(map[string]map[string][]int32)
	for _, assignment := range plan.IntoSyncAssignment() {
		partitions, err := balancer.ParseSyncAssignment(assignment.MemberAssignment)
		if err != nil {
			panic(err)
		}
		owned[assignment.MemberID] = partitions
	}
	for i := range members {
		members[i].owned = owned[members[i].id]
		members[i].generation = 1
	}
	return members
}

func (w workload) prepare(members []member) kgo.GroupMemberBalancerOrError {
	balancer := w.balancer()
	var joined []kmsg.JoinGroupResponseMember
	for _, m := range members {
		each := kmsg.NewJoinGroupResponseMember()
		each.MemberID = m.id
		each.ProtocolMetadata = balancer.JoinGroupMetadata(m.topics, m.owned, m.generation)
		joined = append(joined, each)
	}
	prepared, _, err := balancer.MemberBalancer(joined)
	if err != nil {
		panic(err)
	}
	return prepared.(kgo.GroupMemberBalancerOrError)
}

func main() {
	input := bufio.NewScanner(os.Stdin)
	input.Scan()
	var w workload
	if err := json.Unmarshal(input.Bytes(), &w); err != nil {
		panic(err)
	}
	members, counts := w.group(), w.counts()
	for input.Scan() {
		prepared := w.prepare(members)
		runtime.GC()
		start := time.Now()
		plan, err := prepared.BalanceOrError(counts)
		taken := time.Since(start)
		if err != nil {
			panic(err)
		}
		given := 0
		for _, assignment := range plan.IntoSyncAssignment() {
			partitions, err := w.balancer().ParseSyncAssignment(assignment.MemberAssignment)
			if err != nil {
				panic(err)
			}
			for _, numbers := range partitions {
				given += len(numbers)
			}
		}
		fmt.Println(taken.Nanoseconds(), given)
	}
}
