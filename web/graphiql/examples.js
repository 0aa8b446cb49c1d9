// What the first tabs of GraphiQL hold. Each runs as it is.

export const feed = `# The most liked posts, and who liked them first.
# Ctrl-Enter runs it. Ctrl-Space tells what fits,
# and the book at the left explains every field.
# For the next page, pass endCursor as "after".

query Feed($after: String) {
  viewer {
    name
  }
  activities(
    first: 5
    after: $after
    orderBy: MOST_LIKED
  ) {
    nodes {
      id
      title
      author {
        name
      }
      createdAt
      likeCount
      isLiked
      likeRank
      topLikers(first: 3) {
        name
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
`;

export const like = `# Needs a viewer: choose one at the top right, or
# put a bearer token into the headers below.
# Run it twice: the like comes and goes, and each
# answer tells the state right after its change.

mutation Toggle($activityId: ID!) {
  toggleLike(input: { activityId: $activityId }) {
    liked
    changed
    activity {
      title
      likeCount
      likesChangedAt
      isLiked
      likeRank
      topLikers {
        name
      }
    }
  }
}
`;

export const likers = `# Who liked a post, in the order of the likes.

query Likers($activityId: ID!, $after: String) {
  activity(id: $activityId) {
    title
    likers(first: 10, after: $after) {
      totalCount
      edges {
        likedAt
        node {
          name
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
`;
