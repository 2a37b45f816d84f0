// franz-go's balancers behind `copartition vectors STRATEGY --against`: a case a line in, an answer a line out.
//
// Racks are left out: franz-go takes those of partitions from its client's own metadata.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"log"
	"os"
	"sort"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type question struct {
	Strategy string
	Topics   []struct {
		Name       string
		Partitions int32
	}
	Members []struct {
		ID         string   `json:"id"`
		Topics     []string `json:"topics"`
		InstanceID *string  `json:"instance_id"`
		Owned      [][]any  `json:"owned"`
		Generation *int32   `json:"generation"`
		UserData   string   `json:"user_data"`
	}
}

var balancers = map[string]func() kgo.GroupBalancer{
	"range":              kgo.RangeBalancer,
	"roundrobin":         kgo.RoundRobinBalancer,
	"sticky":             kgo.StickyBalancer,
	"cooperative-sticky": kgo.CooperativeStickyBalancer,
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			log.Fatal(err)
		}
		if err := out.Encode(answer(asked)); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}

func answer(asked question) map[string]any {
	make, known := balancers[asked.Strategy]
	if !known {
		log.Fatalf("franz-go has no %s", asked.Strategy)
	}
	balancer := make()
	var members []kmsg.JoinGroupResponseMember
	for _, each := range asked.Members {
		meta := kmsg.NewConsumerMemberMetadata()
		meta.Version = 3
		meta.Topics = each.Topics
		if each.Generation != nil {
			meta.Generation = *each.Generation
		}
		data, err := hex.DecodeString(each.UserData)
		if err != nil {
			log.Fatal(err)
		}
		meta.UserData = data
		for _, run := range each.Owned {
			owned := kmsg.NewConsumerMemberMetadataOwnedPartition()
			owned.Topic = run[0].(string)
			for _, number := range run[1:] {
				owned.Partitions = append(owned.Partitions, int32(number.(float64)))
			}
			meta.OwnedPartitions = append(meta.OwnedPartitions, owned)
		}
		member := kmsg.NewJoinGroupResponseMember()
		member.MemberID = each.ID
		member.InstanceID = each.InstanceID
		member.ProtocolMetadata = meta.AppendTo(nil)
		members = append(members, member)
	}
	group, subscribed, err := balancer.MemberBalancer(members)
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	counts := map[string]int32{}
	for _, topic := range asked.Topics {
		if _, isRead := subscribed[topic.Name]; isRead && topic.Partitions > 0 {
			counts[topic.Name] = topic.Partitions
		}
	}
	assignment := map[string][][]any{}
	for _, each := range asked.Members {
		assignment[each.ID] = [][]any{}
	}
	plan, err := group.(kgo.GroupMemberBalancerOrError).BalanceOrError(counts)
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	for _, given := range plan.IntoSyncAssignment() {
		topics, err := balancer.ParseSyncAssignment(given.MemberAssignment)
		if err != nil {
			return map[string]any{"error": err.Error()}
		}
		names := []string{}
		for name := range topics {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			run := []any{name}
			for _, number := range topics[name] {
				run = append(run, number)
			}
			if len(run) > 1 {
				assignment[given.MemberID] = append(assignment[given.MemberID], run)
			}
		}
	}
	return map[string]any{"assignment": assignment}
}
